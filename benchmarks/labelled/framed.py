"""Pairs that any collection of texts gives: other texts in one frame, and a text in two frames or edited."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random

from benchmarks.labelled.alike import MOST_WORDS, ratio, resemblance, spread, words_of
from benchmarks.labelled.dress import make_frame
from benchmarks.labelled.sets import COPY, OTHER, LabelledWriter

_MOST_RATIO_OF_OTHERS = 0.8
_LEAST_RESEMBLANCE_OF_COPIES = 0.5
_SHARE_IN_FRAMES_OF_THEIR_OWN = 0.15
_SHARE_IN_TWO_FRAMES, _SHARE_IN_ONE_FRAME = 0.3, 0.4
_LONGEST_FRAME = 0.42
"""Of two frames, as a share of the text in them: longer ones have more words than the text."""


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
        writer.add_text(keys[0], frame.around(first), a)
        writer.add_text(keys[1], other.around(second), b)
        writer.add_pair(*keys, OTHER, "one frame" if is_one else "two frames")


def add_copies(
    writer: LabelledWriter,
    texts: Sequence[tuple[str, str, str]],
    titles: Sequence[str],
    edits: dict[str, Callable[[str, Random], str]],
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
            writer.add_text(f"a{number}/{key}", text, key)
            writer.add_text(f"b{number}/{key}", other, key)
            writer.add_pair(f"a{number}/{key}", f"b{number}/{key}", COPY, kind)


def _in_two_frames(text: str, other: str, language: str, titles: Sequence[str], random: Random) -> tuple[str, str]:
    size = round(len(words_of(text)) * random.uniform(0.05, _LONGEST_FRAME))
    return (
        make_frame(random, language, titles, size).around(text),
        make_frame(random, language, titles, size).around(other),
    )
