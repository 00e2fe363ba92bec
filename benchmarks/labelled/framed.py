"""Pairs that any collection of texts gives: other texts in one frame, and a text in two frames or as sites edit it."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from random import Random

from benchmarks.labelled.sets import COPY, MOST_WORDS, OTHER, LabelledWriter, ratio, resemblance, spread, words_of

_SITES = {
    "en": "Northwind Docs|Package Reader|The Manual Shelf|Open Library Mirror|Codehaven|Daily Releases|Plain "
    "Manuals|Release Watch|Readme Central|Project Digest",
    "de": "Handbuchregal|Paketleser|Freie Anleitungen|Werkbank|Programmspiegel|Nachschlagewerk|Versionsbote|Linuxstube",
    "zh": "文档书架|软件包阅读|开源镜像站|开发者手册|版本速递|代码港|技术资料库|程序员驿站",
}
_MENUS = {
    "en": "Home|Documentation|Downloads|Community|Blog|Support|Search|Sign in|About|Team|Events|Wiki|Forum|"
    "Donate|Languages",
    "de": "Startseite|Dokumentation|Herunterladen|Gemeinschaft|Neuigkeiten|Hilfe|Suche|Anmelden|Über uns|"
    "Termine|Wiki|Forum|Spenden|Sprachen",
    "zh": "首页|文档|下载|社区|博客|支持|搜索|登录|关于我们|团队|活动|维基|论坛|捐助|语言",
}
_LEADS = {
    "en": "You are reading the documentation as it was published by the project.|This page is part of a larger "
    "collection; use the list of contents to find your way.|If something is missing here, please tell us "
    "by mail or open an issue.|We show the text as we have received it from the authors.|Our readers "
    "keep this collection up to date, and everyone is invited to help.|Please note that older and newer "
    "releases may differ from what is described here.",
    "de": "Sie lesen die Dokumentation, wie sie vom Projekt veröffentlicht wurde.|Diese Seite gehört zu einer "
    "größeren Sammlung; das Inhaltsverzeichnis hilft beim Zurechtfinden.|Fehlt hier etwas, so schreiben "
    "Sie uns bitte oder öffnen einen Bericht.|Wir zeigen den Text so, wie wir ihn von den Autoren "
    "erhalten haben.|Unsere Leser halten die Sammlung aktuell, und jede Hilfe ist willkommen.|Bitte "
    "beachten Sie, dass ältere und neuere Fassungen abweichen können.",
    "zh": "您正在阅读由项目发布的文档。|本页是资料合集的一部分，请通过目录查找所需内容。|"
    "如果发现缺漏，请发送邮件或提交问题告知我们。|本站按照作者提供的原文展示内容。|"
    "本合集由读者共同维护，欢迎参与改进。|请注意，较早或较新的版本可能与此处描述有所不同。",
}
_FOOTS = {
    "en": "Was this page helpful? Send us your opinion.|Subscribe to our newsletter and never miss a release.|"
    "All trademarks belong to their owners.|This site uses cookies to remember your settings.|Found a "
    "mistake? Edit this page.|Hosted by volunteers, served from three continents.|Terms of use, privacy "
    "policy, imprint, accessibility.",
    "de": "War diese Seite hilfreich? Sagen Sie uns Ihre Meinung.|Abonnieren Sie unseren Rundbrief und "
    "verpassen Sie keine Fassung mehr.|Alle Marken gehören ihren Inhabern.|Diese Seite verwendet "
    "Cookies, um Einstellungen zu speichern.|Fehler gefunden? Bearbeiten Sie diese Seite.|Betrieben von "
    "Freiwilligen auf drei Kontinenten.|Nutzungsbedingungen, Datenschutz, Impressum.",
    "zh": "本页对您有帮助吗？欢迎留下意见。|订阅我们的邮件，不错过任何新版本。|所有商标归其所有者所有。|"
    "本站使用 Cookie 保存您的设置。|发现错误？点击编辑本页。|由志愿者运营，服务器分布于三大洲。|"
    "使用条款、隐私政策、版权声明、无障碍说明。",
}
_CONTENTS = {"en": "Contents", "de": "Inhalt", "zh": "目录"}

_MOST_RATIO_OF_OTHERS = 0.8
_LEAST_RESEMBLANCE_OF_COPIES = 0.5
_SHARE_IN_FRAMES_OF_THEIR_OWN = 0.15
_SHARE_IN_TWO_FRAMES, _SHARE_IN_ONE_FRAME = 0.3, 0.4
_LONGEST_FRAME = 0.42
"""Of two frames, as a share of the text in them: longer ones have more words than the text."""


@dataclass(frozen=True, slots=True)
class Frame:
    """What stands before and after a text on a site."""

    head: str
    foot: str

    def around(self, text: str) -> str:
        """Return the text as the site shows it."""
        return "\n".join(part for part in (self.head, text, self.foot) if part)


def make_frame(random: Random, language: str, titles: Sequence[str], most_words: int) -> Frame:
    """Make the frame of a site.

    Args:
        random: by which all is chosen.
        language: two letters.
        titles: of pages that its list of contents names, may be empty.
        most_words: how long it may be; it comes near that where there are titles enough.
    """
    site = _some(_SITES, language, random, 1)[0]
    head = [f"{site} {' '.join(_some(_MENUS, language, random, random.randint(3, 8)))}"]
    foot = _some(_FOOTS, language, random, random.randint(1, 3))
    if random.random() < 0.6:
        head += _some(_LEADS, language, random, random.randint(1, 2))
    left = most_words - len(words_of("\n".join([*head, *foot])))
    if left < 0:
        return Frame(site, foot[0] if left > -30 else "")
    start = random.randrange(len(titles)) if titles else 0
    chosen: list[str] = []
    for title in [*titles[start:], *titles[:start]]:
        left -= len(words_of(title))
        if left < 0:
            break
        chosen.append(title)
    contents = [_CONTENTS[language], *chosen] if chosen else []
    if random.random() < 0.5:
        return Frame("\n".join([*head, *contents]), "\n".join(foot))
    return Frame("\n".join(head), "\n".join([*contents, *foot]))


def trimmed(text: str, random: Random, least: float = 0.7) -> str:
    """Return the first part of a text, whole lines, at least that share of it."""
    lines = text.split("\n")
    left = random.uniform(least, 0.93) * len(text)
    kept = []
    for line in lines:
        if left <= 0:
            break
        kept.append(line)
        left -= len(line) + 1
    return "\n".join(kept)


def with_other_bullets(text: str, random: Random) -> str:
    """Mark the points of lists in another way, or not at all."""
    mark = random.choice(["", "* ", "• ", "– ", "#"])
    count = 0

    def put(found: re.Match[str]) -> str:
        nonlocal count
        count += 1
        return f"{found[1]}{count}. " if mark == "#" else f"{found[1]}{mark}"

    return re.sub(r"^( *)[-*+•] +", put, text, flags=re.MULTILINE)


def rewrapped(text: str, random: Random) -> str:
    """Break the lines of paragraphs at another width."""
    width = random.choice([60, 72, 100, 500])
    return "\n\n".join(textwrap.fill(" ".join(part.split()), width) for part in re.split(r"\n\s*\n", text))


def as_comment(text: str, random: Random) -> str:
    """Put the marks of a comment in a program's source before each line."""
    mark = random.choice(["# ", " * ", "// ", ";; ", "-- "])
    return "\n".join(f"{mark}{line}".rstrip() for line in text.split("\n"))


def _some(choices: dict[str, str], language: str, random: Random, count: int) -> list[str]:
    every = choices[language].split("|")
    return random.sample(every, min(count, len(every)))


def add_framed(
    writer: LabelledWriter,
    texts: dict[str, str],
    titles: Sequence[str],
    most: int,
    edits: Mapping[str, Callable[[str, Random], str]],
    *,
    copied: Sequence[tuple[str, str, str]] | None = None,
) -> None:
    """Add others in one frame, and copies.

    Args:
        writer: what they are added to.
        texts: by key.
        titles: what lists of contents name.
        most: how many pairs of each.
        edits: what is done to copies, see `add_copies`.
        copied: as for `add_copies`; by default some of the texts.
    """
    random = Random(writer.folder.name)
    rows = list(texts.items())
    add_others_in_one_frame(writer, rows, titles, most, random)
    copied = [(key, text, text) for key, text in spread(rows, most)] if copied is None else copied
    add_copies(writer, copied, titles, edits, random)


def add_others_in_one_frame(
    writer: LabelledWriter, texts: Sequence[tuple[str, str]], titles: Sequence[str], most: int, random: Random
) -> None:
    """Add neighbours among texts, mostly in one frame: a list of contents and a footer that both pages have.

    Args:
        writer: what they are added to.
        texts: key and text of each, in an order that has those of one subject near each other.
        titles: what the list of contents names.
        most: how many pairs.
        random: by which all is chosen.
    """
    short = [row for row in texts if len(words_of(row[1])) <= 450]
    neighbours = [(short[at], short[at + step]) for step in (1, 2) for at in range(len(short) - step)]
    for number, ((a, first), (b, second)) in enumerate(spread(neighbours, most)):
        if ratio(first, second) > _MOST_RATIO_OF_OTHERS:
            continue
        mean = (len(words_of(first)) + len(words_of(second))) / 2
        is_one = random.random() >= _SHARE_IN_FRAMES_OF_THEIR_OWN
        frame = make_frame(random, writer.language, titles, round(mean * random.uniform(0.5, 2.5)))
        other = frame if is_one else make_frame(random, writer.language, titles, round(mean * 0.4))
        keys = f"framed{number}/{a}", f"framed{number}/{b}"
        texts_in_frames = (keys[0], frame.around(first), a), (keys[1], other.around(second), b)
        writer.add_texts(*texts_in_frames, OTHER, "one frame" if is_one else "two frames")


def add_copies(
    writer: LabelledWriter,
    texts: Sequence[tuple[str, str, str]],
    titles: Sequence[str],
    edits: Mapping[str, Callable[[str, Random], str]],
    random: Random,
) -> None:
    """Add copies of texts: in two frames, edited.

    Args:
        writer: what they are added to.
        texts: key of each, the text and another version of it, which may be the same.
        titles: what lists of contents name.
        edits: what else is done to the second one, by the kind of the pair.
        random: by which all is chosen.
    """
    kinds = ["frame", *edits]
    for number, (key, first, second) in enumerate(texts):
        text, other, kind = first, second, kinds[number % len(kinds)]
        if kind in edits:
            other = edits[kind](second, random)
        dice = random.random()
        if words_of(text) == words_of(other) or kind == "frame" or dice < _SHARE_IN_TWO_FRAMES:
            text, other = _in_two_frames(text, other, writer.language, titles, random)
        elif dice < _SHARE_IN_TWO_FRAMES + _SHARE_IN_ONE_FRAME:
            # Or else who sees that two texts have one frame would know that they are no copies.
            size = round(len(words_of(text)) * random.uniform(0.3, 1.5))
            frame = make_frame(random, writer.language, titles, size)
            text, other = frame.around(text), frame.around(other)
        alike = resemblance(text, other)
        if alike >= _LEAST_RESEMBLANCE_OF_COPIES and max(len(words_of(text)), len(words_of(other))) <= MOST_WORDS:
            writer.add_texts((f"a{number}/{key}", text, key), (f"b{number}/{key}", other, key), COPY, kind)


def _in_two_frames(text: str, other: str, language: str, titles: Sequence[str], random: Random) -> tuple[str, str]:
    size = round(len(words_of(text)) * random.uniform(0.05, _LONGEST_FRAME))
    return (
        make_frame(random, language, titles, size).around(text),
        make_frame(random, language, titles, size).around(other),
    )
