"""Texts for the tests: two short ones of our own, and documents of any number of words."""

from __future__ import annotations

from collections.abc import Collection
from random import Random

ENGLISH = (
    "The ferry to the island leaves at 7:40 from the old pier. On market days it waits for the baker, "
    "who brings 120 loaves and the morning paper. In winter, when the ice is thick, nobody waits at all."
)
CHINESE = (
    "去小岛的渡船每天早上7点40分从旧码头出发。赶集的日子里，船要等面包师傅，"
    "他带来120个面包和当天的报纸。冬天冰层很厚，就没有人等了。"
)

_SYLLABLES = [consonant + vowel for consonant in "bdfgklmnprstvz" for vowel in "aeiou"]
_CHINESE_WORDS = """
我们 他们 时间 问题 城市 学校 工作 生活 经济 社会 文化 历史 政府 公司 市场
技术 科学 研究 发展 管理 教育 学生 老师 朋友 孩子 家庭 医院 医生 健康 天气
春天 夏天 秋天 冬天 早上 晚上 今天 明天 昨天 电影 音乐 新闻 报纸 电视 电脑
手机 汽车 火车 飞机 道路 桥梁 港口 码头 河流 山脉 森林 动物 植物 农民 工人
商店 饭店 食物 水果 蔬菜 面包 牛奶 茶叶 咖啡 衣服 鞋子 房子 窗户 桌子 椅子
图书馆 博物馆 火车站 飞机场 图书 报告 会议 计划 项目 合同 法律 规定 条件 结果 原因
影响 作用 关系 方法 经验 能力 水平 质量 数量 提高 增加 减少 开始 结束 参加
准备 解决 保护 建设 使用 生产 销售 旅游 比赛 运动
"""


def words(count: int, seed: object = 0) -> list[str]:
    """Return words of a made-up language, always the same for a seed, few of them more than once."""
    random = Random(f"words {seed}")
    return ["".join(random.choices(_SYLLABLES, k=random.choice((2, 3, 3, 4)))) for _ in range(count)]


def document(count: int, seed: object = 0) -> str:
    """Return a text of so many words."""
    return " ".join(words(count, seed))


def all_pairs(count: int, seed: object = 0) -> str:
    """Return a text in which each of so many words is followed once by each of them.

    Texts of two seeds have all pairs of neighbouring words in common, and hardly a triple.
    """
    vocabulary = words(count, "all pairs")
    random = Random(f"all pairs {seed}")
    followers = {word: random.sample(vocabulary, count) for word in vocabulary}
    way, result = [vocabulary[0]], []
    while way:
        if left := followers[way[-1]]:
            way.append(left.pop())
        else:
            result.append(way.pop())
    return " ".join(reversed(result))


def edited(text: str, edits: int, seed: object = 0) -> str:
    """Return the text with so many words replaced by others, evenly spread."""
    result = text.split(" ")
    for place, word in zip(spread(len(result), edits, seed), words(edits, f"edit {seed}"), strict=True):
        result[place] = word
    return " ".join(result)


def form(count: int, blanks: int, seed: object = 0) -> str:
    """Return a text of so many words, with a number in so many places, evenly spread."""
    result = words(count, seed)
    for number, place in enumerate(spread(count, blanks, seed)):
        result[place] = str(100 + 7 * number)
    return " ".join(result)


def filled_in(text: str) -> str:
    """Return a form with other numbers: another thing in the same frame, which is similar and no copy."""
    return text.translate(str.maketrans("0123456789", "5678901234"))


def answered(text: str, answers: int, who: object = 0) -> str:
    """Return the text as a form that somebody filled in: evenly spread, a name again and again, numbers, other words.

    Two that were filled in by others are no copies, however few words they are. Edits are other words alone.
    """
    result = text.split(" ")
    random = Random(f"numbers {who}")
    [name, *others] = words(1 + answers, f"answers {who}")
    for number, place in enumerate(spread(len(result), answers)):
        answer = others[number] if number % 6 else name
        result[place] = str(random.randrange(1000, 10_000)) if number % 3 == 1 else answer
    return " ".join(result)


def extended(text: str, additions: int, seed: object = 0) -> str:
    """Return the text with so many words more, evenly spread."""
    result = text.split(" ")
    added = zip(spread(len(result), additions, seed), words(additions, f"addition {seed}"), strict=True)
    for place, word in reversed(list(added)):
        result.insert(place, word)
    return " ".join(result)


def spread(length: int, count: int, seed: object = 0) -> list[int]:
    """Return places of a list, one in each of equal stretches."""
    random = Random(f"spread {seed}")
    return [random.randrange(i * length // count, (i + 1) * length // count) for i in range(count)]


def chinese_words(count: int, seed: object = 0) -> list[str]:
    """Return common Chinese words."""
    return Random(f"chinese {seed}").choices(_CHINESE_WORDS.split(), k=count)


def chinese(items: Collection[str]) -> str:
    """Write Chinese words as a text, with a comma after every tenth."""
    return "".join(word + ("，" if i % 10 == 9 else "") for i, word in enumerate(items))


def shingles(text: str) -> set[tuple[str, ...]]:
    """Return the word triples of a text of space-separated words."""
    tokens = text.split(" ")
    return set(zip(tokens, tokens[1:], tokens[2:], strict=False))


def jaccard(a: str, b: str) -> float:
    """Return the exact share of the word triples of both texts that both have."""
    return len(shingles(a) & shingles(b)) / len(shingles(a) | shingles(b))
