"""What a deduplicator has to decide: the rules over all that was seen before, in plain Python."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from dedup.rules.decisions import Answer
from dedup.rules.documents import Content, Document, Match, StoredDocument, Verdict
from dedup.rules.matcher import Candidate, Matcher
from dedup.rules.pair import similarity_of_words
from dedup.rules.settings import DedupSettings, Mode
from dedup.rules.table import Rule, decide
from dedup.signature.signature import Signature, compare, distance
from tests.pairs import pair_of


class Expected(NamedTuple):
    """A decision, without what it says of lost text."""

    verdict: Verdict
    original: str | None = None
    matched: str | None = None
    distance: int | None = None
    similarity: float | None = None
    rule: Rule | None = None


@dataclass
class Seen:
    """A document that was seen.

    Attributes:
        number: the how manyth it was.
        signature: that of its text; None: it is to be decided anew.
        body: the digest of its bytes.
        leader: the key of its original; None: it is one.
        rule: by which it was decided to be a copy.
    """

    number: int
    signature: Signature | None = None
    body: bytes | None = None
    leader: str | None = None
    rule: Rule | None = None

    @property
    def text(self) -> bytes | None:
        return self.signature and self.signature.text_digest


class Model:
    """Decides as a deduplicator does whose documents have neither hosts nor titles, in one run.

    Args:
        settings: its settings.

    Attributes:
        undecided: the keys of those that have to be seen again.
        bodies: the digests of the bytes that need no text.
    """

    def __init__(self, settings: DedupSettings) -> None:
        self._settings = settings
        self._is_paper = settings.mode is Mode.PAPER
        self._keys = settings.keys
        self._seen: dict[str, Seen] = {}

    @property
    def undecided(self) -> set[str]:
        return {key for key, each in self._seen.items() if each.signature is None}

    @property
    def bodies(self) -> set[bytes]:
        return {each.body for each in self._seen.values() if each.body is not None}

    def forget(self, key: str) -> None:
        """Forget a document that is gone, and all its copies."""
        if key in self._seen:
            self._let_go([key, *self._led_by(key)])

    def decide(self, document: Document) -> Expected | None:
        """Decide a document, and remember it; None: its text has to be known first."""
        expected, answer = self._decided(document)
        signature = self._signature_of(document)
        if expected is None or signature is None or self._is_unchanged(document, signature):
            own = self._seen.get(document.key)
            if expected is None or own is None or signature is None or document.body_digest in (None, own.body):
                return expected
            own.body = document.body_digest
            if not signature.sketch.tokens:
                self._let_go(self._led_by(document.key))
            return expected
        own = self._seen.setdefault(document.key, Seen(len(self._seen)))
        match = answer.match if answer.original else None
        own.signature, own.body = signature, document.body_digest
        own.leader, own.rule = (match.leader.key, answer.rule) if match else (None, None)
        self._let_go([each for each in self._led_by(document.key) if match or not self._is_still_led(each, own)])
        return expected

    def find(self, document: Document) -> Expected | None:
        """Decide a document of a key that was never seen, and do not remember it."""
        return self._decided(document)[0]

    def _decided(self, document: Document) -> tuple[Expected | None, Answer]:
        signature, own = self._signature_of(document), self._seen.get(document.key)
        if signature is None:
            return None, Answer()
        if own is not None and self._is_unchanged(document, signature):
            if own.leader is None:
                return Expected(Verdict.UNCHANGED), Answer()
            leader = self._stored(own.leader)
            is_same = signature.sketch.tokens and own.text == leader.text_digest
            answer = Answer(Match(leader, leader), Rule.SAME_TEXT if is_same else own.rule)
        else:
            answer = self._equal(document, signature)
            if answer.original is None:
                answer = self._near(document, signature)
        is_new = own is None or own.signature is None
        return _told(Verdict.NEW if is_new else Verdict.UPDATED, signature, answer), answer

    def _signature_of(self, document: Document) -> Signature | None:
        if document.signature is not None:
            return document.signature
        twin = self._first(body=document.body_digest)
        return twin and self._seen[twin].signature

    def _is_unchanged(self, document: Document, signature: Signature) -> bool:
        own = self._seen.get(document.key)
        if own is None or own.text != signature.text_digest:
            return False
        # Without words it is told by its bytes, unless it is nobody's copy.
        return bool(signature.sketch.tokens) or own.body == document.body_digest or own.leader is None

    def _equal(self, document: Document, signature: Signature) -> Answer:
        has_words = bool(signature.sketch.tokens)
        if has_words and document.signature is not None:
            twin = self._first(text=signature.text_digest, outside=document.key)
        else:
            twin = self._first(body=document.body_digest)
            if twin is not None and document.key in (twin, self._seen[twin].leader):
                twin = self._first(text=signature.text_digest, outside=document.key) if has_words else None
        if twin is None:
            return Answer()
        return Answer(self._match(twin), Rule.SAME_TEXT if has_words else Rule.SAME_BYTES)

    def _near(self, document: Document, signature: Signature) -> Answer:
        if document.signature is None or signature.sketch.tokens < self._settings.fewest_tokens:
            return Answer()
        content = Content.of(signature, document.key)
        answer = Matcher(self._settings).find(content, list(self._candidates(document.key, signature)), _Store(self))
        own = self._seen.get(document.key)
        if answer.match is None or answer.original is None or own is None or own.leader != answer.original.key:
            return answer
        before, theirs = (self.words_of(each) for each in (self._stored(document.key), answer.match.leader))
        if similarity_of_words(before, theirs) < similarity_of_words(before, signature.words):
            return answer
        # It has changed by no less than it differed before.
        return Answer(answer.match, Rule.UPDATED)

    def _candidates(self, key: str, signature: Signature) -> Iterator[Candidate]:
        ours = self._keys_of(signature)
        # Of each text the first document that holds it; it is none of the document's own.
        for text in {each.text for each in self._seen.values() if each.signature is not None}:
            holder = self._first(text=text, outside=key, leads=self._is_paper)
            other = Seen(0) if holder is None else self._seen[holder]
            if other.signature is None or other.signature.sketch.tokens < self._settings.fewest_tokens:
                continue
            shared = ours == self._keys_of(other.signature)
            if shared.any():
                is_by_band = bool(shared[self._keys.tables :].any())
                yield Candidate(other.number, other.signature.fingerprint, other.signature.sketch, is_by_band)

    def _keys_of(self, signature: Signature) -> np.ndarray:
        return self._keys.of(np.array([signature.fingerprint], np.uint64), signature.bands[np.newaxis])[0]

    def _is_still_led(self, key: str, leader: Seen) -> bool:
        member, theirs = self._seen[key], leader.signature
        assert member.signature is not None
        assert theirs is not None
        if not theirs.sketch.tokens:
            return member.body is not None and member.body == leader.body
        if member.text == leader.text:
            return True
        if any(each.sketch.tokens < self._settings.fewest_tokens for each in (member.signature, theirs)):
            return False
        if self._is_paper:
            return distance(member.signature.fingerprint, theirs.fingerprint) <= self._settings.radius
        return decide(pair_of(member.signature, theirs, self._settings)).is_duplicate

    def _led_by(self, key: str) -> list[str]:
        return [other for other, each in self._seen.items() if each.leader == key]

    def _let_go(self, keys: list[str]) -> None:
        for key in keys:
            self._seen[key] = Seen(self._seen[key].number)

    def _first(
        self, *, text: bytes | None = None, body: bytes | None = None, outside: str = "", leads: bool = False
    ) -> str | None:
        for key, each in self._seen.items():
            is_it = each.text == text if body is None else each.body == body
            if is_it and (text or body) and outside not in (key, each.leader) and not (leads and each.leader):
                return key
        return None

    def _stored(self, key: str) -> StoredDocument:
        each = self._seen[key]
        assert each.signature is not None
        signature = each.signature
        return StoredDocument(each.number, key, signature.text_digest, signature.fingerprint, signature.sketch)

    def _match(self, key: str) -> Match:
        member, leader = self._stored(key), self._seen[key].leader
        return Match(self._stored(leader) if leader else member, member)

    def key_of(self, number: int) -> str:
        return next(key for key, each in self._seen.items() if each.number == number)

    def words_of(self, document: StoredDocument) -> bytes:
        signature = self._seen[document.key].signature
        return b"" if signature is None or self._is_paper else signature.words


class _Store:
    """The documents of a model, see `dedup.rules.matcher.DocumentStore`."""

    def __init__(self, model: Model) -> None:
        self._model = model

    def match(self, number: int) -> Match:
        return self._model._match(self._model.key_of(number))

    def leader_of(self, number: int) -> int:
        return self.match(number).leader.id

    def words(self, document: StoredDocument) -> bytes:
        return self._model.words_of(document)


def _told(verdict: Verdict, signature: Signature, answer: Answer) -> Expected:
    match = answer.match
    if match is None:
        return Expected(verdict)
    leader = match.leader
    is_exact = signature.text_digest == leader.text_digest
    if answer.original is not None:
        verdict = Verdict.EXACT_DUPLICATE if is_exact else Verdict.NEAR_DUPLICATE
    elif verdict is Verdict.NEW and answer.rule is not None:
        verdict = answer.rule.verdict
    return Expected(
        verdict,
        leader.key,
        match.member.key,
        distance(signature.fingerprint, leader.fingerprint),
        1.0 if is_exact else compare(signature.sketch, leader.sketch).jaccard,
        answer.rule,
    )
