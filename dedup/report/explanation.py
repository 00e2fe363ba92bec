"""Explanations: why two documents are duplicates, or are not, by what the check measures of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import Connection, select

from dedup.console import plain
from dedup.errors import InputError
from dedup.report.contents import Row
from dedup.report.rejoining import rejoin
from dedup.report.rows import read_rows
from dedup.report.stored_texts import (
    Origin,
    find_document,
    find_problem,
    find_text,
    stored_scheme,
    stored_scopes,
)
from dedup.report.triage import names_in
from dedup.report.words import WordDiff, are_too_long, diff_words, tokens_of
from dedup.rules.documents import DUPLICATES, Match, StoredDocument, Verdict
from dedup.rules.measures import Measure
from dedup.rules.other_fields import other_fields, unpacked
from dedup.rules.settings import RuleSettings
from dedup.rules.signs import differing_signs
from dedup.rules.table import Rule, measure
from dedup.rules.two_texts import PairDecider, PairDecision, decision_of_pair
from dedup.signature.schemes import Scheme, find_scheme
from dedup.signature.signature import BITS, Signature, distance
from dedup.signature.signing import bands_of_words, make_signature
from dedup.signature.tokens import Tokens
from dedup.store import document_rows
from dedup.store.database import Database
from dedup.store.schema import runs, skipped, verdicts
from dedup.store.text_rows import find_words

_NEEDS_WORDS = (Rule.NO_KEY, Rule.NOT_ALIKE)
# What decides there is more than two texts.
_BEYOND_TEXTS = tuple(
    rule.short for rule in (Rule.SAME_SHORT_TEXT, Rule.OTHER_FIELDS, Rule.UPDATED, Rule.NEW_TEXT, Rule.MOVED)
)


@dataclass(frozen=True, slots=True, eq=False)
class Side:
    """A document of the two that are explained.

    Attributes:
        name: what it is called: the name of a file, a key of the database, the text itself.
        origin: where its text is from.
        signature: its signature; where its words are not stored without them, and with bands of zeros.
        text: its text; None where that is not stored.
        guessed_encoding: the encoding of its file, if that was guessed.
        title: its title; empty: nobody knows.
        fields: its short fields, see `dedup.rules.other_fields`.
    """

    name: str
    origin: Origin
    signature: Signature
    text: str | None
    guessed_encoding: str = ""
    title: str = ""
    fields: str = ""

    @property
    def tokens(self) -> int:
        """How many tokens it has."""
        return self.signature.sketch.tokens


@dataclass(frozen=True, slots=True, eq=False)
class Explanation:
    """Why the second of two documents is a duplicate of the first, or is not.

    Attributes:
        a: the document that is known; of a page of a database that by which it was found.
        b: the document that comes after it.
        decision: what becomes of the second, with the keys that the two share.
        measures: what was measured of the two, in its order.
        verdict: on the second; of a page of a database the one that stands there.
        rule: what decides on the two now.
        reason: its sentence; of a verdict that does not follow from what is stored now that.
        is_certain: whether the words of both are known, where it takes them to decide.
        diff: what differs; None where the words of one are not known, or the texts too long.
        signs: where the same tokens have other signs between them: what is there in the first and in the second.
        notes: what has to be said besides, a sentence each.
        settings: by which it was decided.
        record: the verdict that the database has, if that is explained.
    """

    a: Side
    b: Side
    decision: PairDecision
    measures: list[Measure]
    verdict: Verdict
    rule: Rule
    reason: str
    is_certain: bool
    diff: WordDiff | None
    signs: list[tuple[str, str]]
    notes: list[str]
    settings: RuleSettings
    record: Row | None = None

    @property
    def bands(self) -> tuple[int, ...] | None:
        """The numbers of the bands that they share; None where they are not known."""
        return None if Origin.FINGERPRINT in (self.a.origin, self.b.origin) else self.decision.bands

    @property
    def differing_bits(self) -> list[int]:
        """The bits in which the fingerprints differ, 0 the least significant."""
        differing = self.a.signature.fingerprint ^ self.b.signature.fingerprint
        return [bit for bit in range(BITS) if differing >> bit & 1]


def explain(a: Side, b: Side, settings: RuleSettings, leader: Side | None = None) -> Explanation:
    """Explain what becomes of the second document where the first is known.

    Args:
        a: the first.
        b: the second.
        settings: by which it is decided.
        leader: the leader of the cluster of the first; None: the first itself.
    """
    member = _stored(a)
    match = Match(member if leader in (None, a) else _stored(leader), member)
    known = {"key": b.name, "title": b.title, "fields": b.fields}
    pair = PairDecider(settings).pair(a.signature, b.signature, match, **known, in_full=True)
    decision = decision_of_pair(pair)
    scheme = find_scheme(settings.scheme)
    first, second = _tokens(a, scheme), _tokens(b, scheme)
    is_too_long = are_too_long(a.tokens, b.tokens)
    rule = decision.rule
    return Explanation(
        a,
        b,
        decision,
        list(measure(pair)),
        verdict=rule.verdict,
        rule=rule,
        reason=rule.says,
        is_certain=rule not in _NEEDS_WORDS or Origin.FINGERPRINT not in (a.origin, b.origin),
        diff=diff_words(first, second, None if a.text is None else names_in(a.text), None)
        if first and second and not is_too_long
        else None,
        signs=list(differing_signs(a.signature.words, b.signature.words)),
        notes=list(_notes(a, b, is_too_long=is_too_long)),
        settings=settings,
    )


def find_page(database: Database, key: str) -> Side | None:
    """Return a page of a database by its key, or as `dedup.console.readable` shows it; None: there is none.

    Raises:
        InputError: it is stored, and was not compared with others.
    """
    with database.read() as connection:
        found = find_document(connection, key)
        if found is None and find_problem(connection, key) is not None:
            raise InputError(_why_unknown(connection, database.name, key))
        return found and _side_of(connection, database.name, found)


def explain_dropped(database: Database, key: str, settings: RuleSettings) -> Explanation:
    """Explain why a page was dropped, or what it resembles, as a database has it.

    It is decided once more by the settings, of which the database has not all that the crawl had.

    Args:
        database: where the page is.
        key: that of the page.
        settings: those of the crawl.

    Raises:
        InputError: the page is unknown, or was kept and resembles no other.
    """
    with database.read() as connection:
        page = find_document(connection, key)
        if page is None:
            raise InputError(_why_unknown(connection, database.name, key))
        verdict = _telling_verdict(connection, page)
        [record] = read_rows(connection, verdicts.c.id == verdict.id)
        others = document_rows.find_with_leaders(connection, [verdict.original_id, verdict.matched_id])
        original, member = others[verdict.original_id], others[verdict.matched_id]
        a, b = (_side_of(connection, database.name, each) for each in (member, page))
        leader = None if member.id == original.id else _side_of(connection, database.name, original)
    explanation = explain(a, b, settings, leader)
    rule, notes = explanation.rule, [*explanation.notes, *_notes_of_record(record, page, original)]
    if not b.tokens and page.body_digest is not None and page.body_digest == member.body_digest:
        rule = Rule.SAME_BYTES
    elif record.rule in _BEYOND_TEXTS:
        rule = Rule.of(record.rule or "")
    follows = rule.is_duplicate if record.verdict.is_duplicate else rule.is_similar or rule.short == record.rule
    if not follows:
        notes.append(
            "The verdict does not follow from what is stored now: a page has changed since, or the crawl had other "
            "settings, which the database does not keep; give them by --set."
        )
    reason = rule.says if follows else f"unknown from what is stored now ({rule.says})"
    found = replace(explanation, verdict=record.verdict, rule=rule, reason=reason, is_certain=True)
    return replace(found, record=record, notes=notes)


def _stored(side: Side) -> StoredDocument:
    signature = side.signature
    return StoredDocument(
        id=0,
        key=side.name,
        text_digest=signature.text_digest,
        fingerprint=signature.fingerprint,
        sketch=signature.sketch,
        title=side.title,
        fields=side.fields,
    )


def _tokens(side: Side, scheme: Scheme) -> Tokens | None:
    """Return the tokens of a side where they stand in its text; None where neither text nor words are stored."""
    if side.text is not None:
        return tokens_of(side.text, scheme)
    return rejoin(side.signature.words) if side.signature.words else None


def _notes(a: Side, b: Side, *, is_too_long: bool) -> Iterator[str]:
    sides = {"A": a, "B": b}
    if names := other_fields(a.fields, b.fields):
        values = [unpacked(side.fields).values for side in (a, b)]
        told = (f"{name}: {' '.join(values[0][name])} in A, {' '.join(values[1][name])} in B" for name in names)
        yield f"Their fields tell them apart: {'; '.join(told)}."
    if is_too_long:
        yield (
            f"With {a.tokens:,} and {b.tokens:,} tokens the texts are too long for the words that differ to be shown."
        )
    for letter, side in sides.items():
        if side.guessed_encoding:
            yield (
                f"{letter} is not UTF-8 and was read as {side.guessed_encoding}, which is a guess, and a bad one where "
                f"there are few words; --encoding NAME settles it."
            )
    without = [letter for letter, side in sides.items() if side.origin is Origin.FINGERPRINT]
    if without:
        is_b = without == ["B"]
        way_out = "`dedup explain URL-OF-A FILE-OR-TEXT-OF-B`" if is_b else "`dedup explain` with the files or texts"
        yield (
            f"Neither text nor words of {' and of '.join(without)} are stored, so bands, what the words say and "
            f"where they differ cannot be shown; {way_out} shows them."
        )


def _notes_of_record(record: Row, page: StoredDocument, original: StoredDocument) -> Iterator[str]:
    if record.verdict.is_duplicate and record.is_kept:
        yield "It was kept because nothing is dropped in this run (DEDUP_MARK_ONLY)."
    if record.verdict.is_duplicate and page.leader_id is None:
        yield "It was released, or its original has changed since: it is re-evaluated when it is fetched again."
        return
    if record.distance != distance(original.fingerprint, page.fingerprint):
        other = "Its original" if record.verdict.is_duplicate else "What it resembles"
        yield f"{other} has changed since: distance and similarity are no longer those of the verdict."
    if record.rule == Rule.OTHER_FIELDS.short and not other_fields(original.fields, page.fields):
        yield "Several things have this text, and their fields do not tell which of them it is, if it is one of them."


def _side_of(connection: Connection, database: str, stored: StoredDocument) -> Side:
    """Make a side of a document of a database of this name."""
    scopes = stored_scopes(connection)
    text = find_text(connection, stored, scopes)
    if text is not None:
        signature = make_signature(text, stored_scheme(connection, database))
        mixed = scopes.mixed_signature(stored.key, signature, stored.space)
        return Side(stored.key, Origin.PAGE, mixed, text, title=stored.title, fields=stored.fields)
    words = find_words(connection, stored.text_digest)
    signature = Signature(
        # A page that lost its original has no digest; nothing must be taken for the same as it.
        stored.text_digest or document_rows.key_digest(stored.key),
        stored.fingerprint,
        stored.sketch,
        bands_of_words(words),
        words,
    )
    origin = Origin.WORDS if words else Origin.FINGERPRINT
    return Side(stored.key, origin, signature, None, title=stored.title, fields=stored.fields)


def _telling_verdict(connection: Connection, page: StoredDocument) -> Any:
    """Return the last verdict on a page, or the one before if the page is similar and was seen again unchanged."""
    last = (
        select(verdicts, runs.c.name)
        .join(runs, runs.c.id == verdicts.c.run_id)
        .where(verdicts.c.document_id == page.id)
        .order_by(verdicts.c.id.desc())
        .limit(1)
    )
    row = connection.execute(last).first()
    if row is None:
        raise InputError(
            f"{plain(page.key)} was not stored: the process that had decided to keep it ended before; it is decided "
            "anew when it is seen again"
        )
    found: Any = row
    if row.verdict == Verdict.UNCHANGED:
        before = last.where(verdicts.c.verdict != Verdict.UNCHANGED.value)
        # One on a duplicate was on what it said before.
        found = connection.execute(before.where(verdicts.c.verdict.not_in(DUPLICATES))).first()
    if found is None or found.original_id is None:
        raise InputError(
            f"{plain(page.key)} was kept, and resembles no other page: it is {row.verdict} in run {plain(row.name)}"
        )
    return found


def _why_unknown(connection: Connection, database: str, key: str) -> str:
    """Return what is said of a page that has no verdict: a run may have skipped it."""
    known = select(skipped.c.reason, skipped.c.detail).where(skipped.c.key_digest == document_rows.key_digest(key))
    if (last := connection.execute(known.order_by(skipped.c.id.desc())).first()) is not None:
        return f"{plain(key)} was skipped: {plain(last.reason)}{f' ({plain(last.detail)})' if last.detail else ''}"
    if (problem := find_problem(connection, key)) is not None:
        return f"{plain(key)} was kept, and not compared: {plain(problem)}"
    return f"database {database} knows no page {plain(key)}; of two texts or files name both"
