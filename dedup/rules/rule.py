"""The rules by which one document is, resembles, or is not a duplicate of another one."""

from __future__ import annotations

from enum import StrEnum


class Rule(StrEnum):
    """What decided on a document and another one; where it is stored, by its `short` name."""

    SAME_TEXT = "the texts are the same once normalised"
    SAME_BYTES = "the pages have no text, and their bytes are the same"
    SAME_SHORT_TEXT = "the texts are the same, but too short, or had by too many, to say that one is a copy"
    TOO_SHORT = "a text has too few tokens for anything but an exact comparison, and the texts are not the same"
    TOO_FAR = "the fingerprints differ in more than 3 bits, and mode is paper"
    NO_KEY = "the documents share no key: no band, and no prefix of a table with fingerprints within 3 bits"
    FAR_FROM_LEADER = "too far from the leader of the cluster: neither leader_jaccard nor leader_containment is reached"
    PAPER = "the fingerprints differ in at most 3 bits, and mode is paper"
    JACCARD = "Jaccard similarity reaches min_jaccard"
    CONTAINMENT = "containment reaches min_containment, and the length ratio min_length_ratio"
    SHORT_ALIKE = "a text has fewer than short_tokens tokens, and their words and pairs of words reach short_jaccard"
    NOT_ALIKE = "neither Jaccard similarity nor containment is high enough"
    LESS_ALIKE = "alike, but less than min_jaccard and min_containment ask for"
    REPLACED = "another thing in the same frame: more than max_replaced short stretches of 100 tokens were replaced"
    REWRITTEN = "another text in the same frame: more than max_rewritten of it is in long stretches that were rewritten"
    ADDED = "another text in the same frame: words gave way, and more than max_added stands in the middle of one alone"
    SWAPPED = (
        "another thing in the same frame: more than max_swapped of 100 tokens gave way to the same ones throughout"
    )
    RENUMBERED = (
        "another thing in the same frame: it has other numbers, of which they share less than min_numbers, or any with "
        "another name where addresses differ in numbers alone"
    )

    @classmethod
    def of(cls, short: str) -> Rule:
        """Return a rule by its `short` name."""
        return cls[short.upper()]

    @property
    def short(self) -> str:
        """Its name in databases and files."""
        return self.name.lower()

    @property
    def plain(self) -> str:
        """What it means for two documents, in a few words for people who read reports."""
        return _PLAIN[self]

    @property
    def is_duplicate(self) -> bool:
        """Whether the second document is dropped by it."""
        return self in (Rule.SAME_TEXT, Rule.SAME_BYTES, Rule.PAPER) or self.is_by_check

    @property
    def is_by_check(self) -> bool:
        """Whether the check confirmed a candidate by it."""
        return self in (Rule.JACCARD, Rule.CONTAINMENT, Rule.SHORT_ALIKE)

    @property
    def is_similar(self) -> bool:
        """Whether the documents are alike, and the second is kept all the same: a person should look at them."""
        return self in _SIMILAR


_PLAIN = {
    Rule.SAME_TEXT: "the same text",
    Rule.SAME_BYTES: "the same file",
    Rule.SAME_SHORT_TEXT: "the same few words",
    Rule.TOO_SHORT: "too short to compare",
    Rule.TOO_FAR: "fingerprints far apart",
    Rule.NO_KEY: "nothing in common",
    Rule.FAR_FROM_LEADER: "too far from its cluster",
    Rule.PAPER: "fingerprints close together",
    Rule.JACCARD: "most of the text is the same",
    Rule.CONTAINMENT: "one text holds the other",
    Rule.SHORT_ALIKE: "short, and mostly the same",
    Rule.NOT_ALIKE: "little in common",
    Rule.LESS_ALIKE: "alike, but not enough",
    Rule.REPLACED: "words replaced here and there",
    Rule.REWRITTEN: "a long part is another",
    Rule.ADDED: "much stands in one alone",
    Rule.SWAPPED: "another name throughout",
    Rule.RENUMBERED: "other numbers",
}
_SIMILAR = {
    Rule.SAME_SHORT_TEXT,
    Rule.LESS_ALIKE,
    Rule.REPLACED,
    Rule.REWRITTEN,
    Rule.ADDED,
    Rule.SWAPPED,
    Rule.RENUMBERED,
    Rule.FAR_FROM_LEADER,
}
