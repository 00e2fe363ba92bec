from dataclasses import dataclass


@dataclass
class Job:
    url: str
    title: str
    company: str
    description: str
