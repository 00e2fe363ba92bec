from dataclasses import dataclass


@dataclass
class Product:
    title: str
    category: str
    description: str
    price: str


@dataclass
class Review:
    id_: int
    content: str
