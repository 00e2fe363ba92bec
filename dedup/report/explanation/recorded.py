"""A verdict of a database to its explanation."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from dedup.report.explanation.build import compare_sides, decide, exact_of, explain, keys_of, what_is_missed
from dedup.report.explanation.contents import ClusterMember, Explanation
from dedup.report.explanation.stored import Dropped, Record
from dedup.rules.decision import Kept
from dedup.rules.rule import Rule
from dedup.rules.settings import RuleSettings
from dedup.rules.verification import belongs_to_cluster

_KEPT = {
    Kept.KEEPER: "It was kept all the same, as the keeper of its cluster.",
    Kept.BRAKE: "It was kept all the same, because its cluster or its host is over a limit.",
    Kept.JOINED: (
        "It was kept all the same: it led a cluster of its own, until the page that it was found by came and showed "
        "the two to be one."
    ),
    Kept.MARKED: "It was kept all the same, as nothing was dropped in this run (DEDUP_MARK_ONLY).",
}


def explain_dropped(dropped: Dropped, settings: RuleSettings) -> Explanation:
    """Explain why a page was dropped, or what it resembles, as a database has it.

    It is decided once more, by the settings of the crawl, of which the database has but scheme and tables.
    """
    record, page, original, member = dropped.record, dropped.page, dropped.original, dropped.member
    explanation = explain(original, page, settings)
    decision = decide(member, page, settings, leader=original.name)
    by_member = None
    if record.matched != record.original:
        by_member = ClusterMember(
            record.matched,
            decision.distance,
            keys_of(member, page, decision),
            exact_of(member, page),
            compare_sides(member, page, settings, leader=original.name),
        )
    found = decision.rule
    if by_member is not None and found.is_by_check and not belongs_to_cluster(explanation.estimated, settings):
        found = Rule.FAR_FROM_LEADER
    if not page.signature.sketch.tokens and dropped.has_same_bytes:
        found = Rule.SAME_BYTES
    rule, notes = str(found), [*explanation.notes, *_notes_of_record(dropped, explanation.distance)]
    if not _follows(record, found):
        rule = f"not to be told from what is stored now ({rule})"
        notes.append(
            "The verdict does not follow from what is stored now: a page has changed since, or the crawl had other "
            "settings, which the database does not keep; give them by --mode and --set."
        )
    missed = explanation.missed
    if record.verdict.is_duplicate:
        missed = []
    elif by_member is not None:
        missed = what_is_missed(
            member, page, by_member.exact, by_member.words, settings, to_leader=explanation.estimated
        )
    return replace(
        explanation,
        verdict=record.verdict,
        rule=rule,
        missed=missed,
        is_certain=True,
        record=record,
        member=by_member,
        notes=notes,
    )


def _follows(record: Record, rule: Rule) -> bool:
    """Say whether a verdict of a database is what a rule says."""
    if record.verdict.is_duplicate:
        return rule.is_duplicate
    return rule.is_similar or rule.short == record.rule


def _notes_of_record(dropped: Dropped, distance: int) -> Iterator[str]:
    record = dropped.record
    if record.kept is not None:
        yield _KEPT[record.kept]
    if dropped.is_let_go:
        yield "Its original has changed since: it is decided anew when it is fetched again."
    elif record.distance != distance:
        other = "Its original" if record.verdict.is_duplicate else "What it resembles"
        yield f"{other} has changed since: distance and similarity are no longer those of the verdict."
