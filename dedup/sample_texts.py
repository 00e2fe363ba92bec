"""Texts that call all of what is compiled."""

from __future__ import annotations

import random
from collections.abc import Iterator


def sample_texts() -> Iterator[str]:
    """Yield texts of all lengths and of both kinds of scripts, some of them copies of others in part."""
    chance = random.Random(1)
    words, characters = [f"word{number}" for number in range(2000)], "天地玄黄宇宙洪荒日月盈昃中国人民大学生活动物"
    for length in (5, 30, 60, 200, 800):
        for _ in range(20):
            text = [chance.choice(words) for _ in range(length)]
            for changed in (0, 0, 1, length // 40, length // 10):
                for _ in range(changed):
                    text[chance.randrange(length)] = chance.choice(words)
                yield " ".join(text)
            yield "".join(chance.choice(characters) for _ in range(length))
