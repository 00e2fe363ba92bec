"""What makes a copy of a document: edits after which a reader would not miss it."""

from __future__ import annotations

import hashlib
import logging
import re
from collections.abc import Callable
from dataclasses import replace
from random import Random

import jieba

from benchmarks.labelled.blocks import PARAGRAPH, ROW, Block, Page
from benchmarks.labelled.frames import a_date

jieba.setLogLevel(logging.WARNING)

Edit = Callable[[Page, Random, str], Page]

_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-ZÄÖÜ\d])|(?<=[。！？])")
_WORD = re.compile(r"[a-zäöüß]{4,}")
_HAN = re.compile(r"[\u4e00-\u9fff]{1,3}")
_FEWEST_WORDS_TO_EDIT = 12

# Without these a sentence says the contrary.
_NEVER = frozenset(
    [
        "without",
        "nicht",
        "keine",
        "keinen",
        "keiner",
        "ohne",
        "nein",
        "never",
        "none",
        "neither",
        "except",
        "unless",
        "außer",
        "weder",
        "nie",
        "mindestens",
        "höchstens",
        "least",
        "most",
        "more",
        "less",
        "mehr",
        "weniger",
        "before",
        "after",
        "vor",
        "nach",
        "不",
        "没",
        "没有",
        "无",
        "未",
        "不得",
        "不能",
        "不可",
        "勿",
        "禁止",
        "非",
        "除",
        "除外",
        "以上",
        "以下",
        "前",
        "后",
        "以内",
    ]
)

_SYNONYMS = {
    "en": "also:likewise usually:normally because:since should:ought about:around often:frequently however:though "
    "their:its these:those with:having must:shall please:kindly several:various which:that will:shall large:big "
    "small:little help:assist need:require begin:start show:display information:details",
    "de": "auch:ebenso oder:beziehungsweise sowie:und werden:sollen dieser:jener sollte:müsste sofort:unverzüglich "
    "immer:stets etwa:ungefähr häufig:oft jedoch:aber bitte:freundlicherweise können:dürfen weil:da",
    "zh": "以及:和 可以:能够 或者:或 如果:若 "
    "应当:应 请:敬请 进行:开展 及时:尽快 按照:依照 由于:因为 但是:不过 目前:现在 提供:给予",
}

_BANNERS = {
    "en": "This is a mirror of a page that is published elsewhere.|Copied from the original with the consent of the "
    "publisher.|You are reading an archived copy of this page.",
    "de": "Dies ist der Spiegel einer Seite, die an anderer Stelle erscheint.|"
    "Übernommen mit Zustimmung des Herausgebers.|"
    "Sie lesen eine archivierte Kopie dieser Seite.",
    "zh": "本页为其他网站内容的镜像。|本文转载自原发布单位，版权归原作者所有。|您正在阅读的是本页的存档副本。",
}
_SOURCES = {
    "en": "Source: {host}, retrieved on {date}.",
    "de": "Quelle: {host}, abgerufen am {date}.",
    "zh": "来源：{host}，访问日期：{date}。",
}
_VISITS = {
    "en": "Your visit on {date}, session {session}.",
    "de": "Ihr Besuch am {date}, Sitzung {session}.",
    "zh": "访问日期：{date}，会话编号：{session}。",
}
_UPDATES = {"en": "Last updated: {date}", "de": "Zuletzt geändert: {date}", "zh": "最后更新：{date}"}
_HEADLINES = {
    "en": "{title} (full text)|Read here: {title}|{title} - all details|Overview: {title}",
    "de": "{title} (vollständiger Text)|Hier lesen: {title}|{title} - alle Angaben|Überblick: {title}",
    "zh": "{title}（全文）|阅读：{title}|{title}——详细内容|一览：{title}",
}
_ADDED = {
    "en": "All details are given without guarantee.|We thank all readers who sent us hints.|"
    "Please note what is said above.",
    "de": "Alle Angaben ohne Gewähr.|Wir danken allen, die uns Hinweise gesandt haben.|"
    "Bitte beachten Sie das oben Gesagte.",
    "zh": "以上内容仅供参考。|感谢各位读者的反馈。|请注意以上说明。",
}


def same(page: Page, random: Random, language: str) -> Page:
    """Change nothing: what changes is the frame."""
    return page


def other_headline(page: Page, random: Random, language: str) -> Page:
    """Put other words round the headline."""
    return replace(page, title=_one(_HEADLINES, language, random).format(title=page.title))


def session(page: Page, random: Random, language: str) -> Page:
    """Add the day of the visit and a session's number."""
    number = hashlib.sha256(str(random.random()).encode()).hexdigest()[:16]
    line = _VISITS[language].format(date=a_date(language, random), session=number)
    return _put(page, line, random.choice([0, len(page.blocks)]))


def updated(page: Page, random: Random, language: str) -> Page:
    """Add when it was last changed, which it was not."""
    return _put(page, _UPDATES[language].format(date=a_date(language, random)), random.choice([0, len(page.blocks)]))


def mirrored(page: Page, random: Random, language: str) -> Page:
    """Put a banner before it and the source after it."""
    host = f"www.{random.choice(['example', 'mirror', 'pages', 'infos'])}{random.randint(1, 99)}.example"
    source = _SOURCES[language].format(host=host, date=a_date(language, random))
    return _put(_put(page, _one(_BANNERS, language, random), 0), source, len(page.blocks) + 1)


def sentences(page: Page, random: Random, language: str) -> Page:
    """Take a sentence out of a long paragraph, change the order of two, or add one that says nothing new."""
    for _ in range(random.randint(1, 2)):
        page = _edit_paragraph(page, random, language)
    return page


def words(page: Page, random: Random, language: str) -> Page:
    """Edit two to nine of a hundred words; figures, names and what a sentence turns on stay."""
    return _edit_words(page, random, language, random.uniform(0.02, 0.09))


def trimmed(page: Page, random: Random, language: str) -> Page:
    """Keep the first two thirds to nine tenths of it."""
    return _keep_first(page, random.uniform(0.66, 0.92))


def several(page: Page, random: Random, language: str) -> Page:
    """Do three of the small edits."""
    for edit in random.sample([other_headline, session, updated, mirrored, sentences], 3):
        page = edit(page, random, language)
    return _edit_words(page, random, language, random.uniform(0.0, 0.03))


def reworked(page: Page, random: Random, language: str) -> Page:
    """Edit a third of the words and cut the rest short: nobody can say whether it is still the same."""
    return _keep_first(_edit_words(page, random, language, random.uniform(0.25, 0.4)), random.uniform(0.5, 0.65))


def _keep_first(page: Page, share: float) -> Page:
    left = share * sum(len(block.text) for block in page.blocks)
    kept: list[Block] = []
    for block in page.blocks:
        if left <= 0:
            break
        text = block.text
        if block.kind == PARAGRAPH and len(text) > left:
            # Chinese has spaces at names only, or none.
            begun = text[: int(left)]
            begun = begun.rpartition(" ")[0] if " " in begun[-20:] else begun
            kept.append(Block(PARAGRAPH, (f"{begun} …",)))
        else:
            kept.append(block)
        left -= len(text)
    return replace(page, blocks=tuple(kept))


def _put(page: Page, line: str, at: int) -> Page:
    return replace(page, blocks=(*page.blocks[:at], Block(PARAGRAPH, (line,)), *page.blocks[at:]))


def _edit_paragraph(page: Page, random: Random, language: str) -> Page:
    split = {at: _SENTENCE.split(block.text) for at, block in enumerate(page.blocks) if block.kind == PARAGRAPH}
    # A sentence with a figure may be what the page is there for.
    spare = [(at, of) for at, each in split.items() for of in range(len(each)) if len(each) > 2 and _is_spare(each[of])]
    if not spare or random.random() < 0.3:
        return _put(page, _one(_ADDED, language, random), random.randint(1, len(page.blocks)))
    at, of = random.choice(spare)
    parts = split[at]
    if random.random() < 0.5 or of == 0:
        parts = [*parts[:of], *parts[of + 1 :]]
    else:
        parts = [*parts[: of - 1], parts[of], parts[of - 1], *parts[of + 1 :]]
    text = ("" if language == "zh" else " ").join(parts)
    return replace(page, blocks=(*page.blocks[:at], Block(PARAGRAPH, (text,)), *page.blocks[at + 1 :]))


def _is_spare(sentence: str) -> bool:
    return bool(sentence.strip()) and not re.search(r"\d", sentence) and not set(_tokens(sentence, "zh")) & _NEVER


def _edit_words(page: Page, random: Random, language: str, share: float) -> Page:
    synonyms = dict(each.split(":") for each in _SYNONYMS[language].split())
    every = [
        word for block in page.blocks for word in _tokens(block.text, language) if _may_change(word, page, language)
    ]
    if len(every) < _FEWEST_WORDS_TO_EDIT:
        return page
    # The share is that of all words, also of those that may not change.
    chance = min(0.9, share * sum(map(_is_word, _tokens(page.text, language))) / len(every))
    blocks = []
    for block in page.blocks:
        changed = []
        for word in [] if block.kind == ROW else _tokens(block.text, language):
            if random.random() < chance and _may_change(word, page, language):
                changed.append(_changed(word, synonyms, every, random))
            else:
                changed.append(word)
        blocks.append(block if block.kind == ROW else Block(block.kind, ("".join(changed),)))
    return replace(page, blocks=tuple(blocks))


def _changed(word: str, synonyms: dict[str, str], every: list[str], random: Random) -> str:
    if word in synonyms:
        return synonyms[word]
    dice = random.random()
    if dice < 0.35:
        return ""
    if dice < 0.75 and len(word) > 1:
        at = random.randrange(len(word) - 1)
        return word[:at] + word[at + 1] + word[at] + word[at + 2 :]
    return random.choice(every)


def _may_change(word: str, page: Page, language: str) -> bool:
    if word in _NEVER or word in page.title or word in page.kept:
        return False
    return bool((_HAN if language == "zh" else _WORD).fullmatch(word))


def _tokens(text: str, language: str) -> list[str]:
    return jieba.lcut(text) if language == "zh" else re.findall(r"\w+|\W+", text)


def _is_word(token: str) -> bool:
    return token[0].isalnum()


def _one(choices: dict[str, str], language: str, random: Random) -> str:
    return random.choice(choices[language].split("|"))


COPIES: dict[str, Edit] = {
    "frame": same,
    "print": same,
    "headline": other_headline,
    "session": session,
    "updated": updated,
    "sentences": sentences,
    "words": words,
    "trimmed": trimmed,
    "mirror": mirrored,
    "several": several,
}
"""Edits that make copies, by the kind of the pair."""
