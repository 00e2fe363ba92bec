from pydantic import BaseModel


class Post(BaseModel):
    url: str
    author: str
    message: str


class Member(BaseModel):
    nick: str
    joined: int
