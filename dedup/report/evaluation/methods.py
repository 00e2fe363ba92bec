"""Methods that decide labelled pairs, run over sets of them; how their decisions agree with the labels, as tables."""

from __future__ import annotations

import difflib
import logging
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from hashlib import blake2b
from itertools import chain, islice
from typing import Any, Protocol, Self

from dedup.display import cut, plain
from dedup.progress import track
from dedup.report.evaluation.labelled import LabelledDocument, LabelledPair, LabelledSet
from dedup.rules.pairwise import PairDecider
from dedup.rules.settings import RuleSettings
from dedup.signature.schemes import Scheme, find_scheme
from dedup.signature.signature import Signature
from dedup.signature.word_lists import content_of, prepare
from dedup.workers.pool import process_context


@dataclass(frozen=True, slots=True)
class AnalysedDocument:
    """A text and its signature."""

    text: str
    signature: Signature


class Method(Protocol):
    """Decides, by signatures of a scheme, whether the second of two documents is a duplicate of the first."""

    name: str
    scheme: Scheme

    def decide(self, first: AnalysedDocument, second: AnalysedDocument) -> tuple[bool, str]:
        """Return the decision, and why."""
        ...


class Pipeline:
    """The decision that the pipeline makes: keys and check."""

    def __init__(self, name: str, settings: RuleSettings) -> None:
        self.name = name
        self.scheme = find_scheme(settings.scheme)
        self._decider = PairDecider(settings)

    def decide(self, first: AnalysedDocument, second: AnalysedDocument) -> tuple[bool, str]:
        """Return the decision, and the rule that gave it."""
        decision = self._decider.decide(first.signature, second.signature)
        likeness = decision.similarity
        return decision.rule.is_duplicate, (
            f"{decision.rule.value}: distance {decision.distance}, estimated Jaccard {likeness.jaccard:.2f}, "
            f"containment {likeness.containment:.2f}, length ratio {likeness.length_ratio:.2f}"
        )


# Documents that a process is sent at once.
_CHUNK = 16


@dataclass(frozen=True, slots=True)
class Quality:
    """How well decisions agree with labels: pairs that were found, rightly or not, and that were not found."""

    true_positives: int = 0
    false_positives: int = 0
    false_negatives: int = 0
    true_negatives: int = 0

    @classmethod
    def of(cls, decisions: Iterable[tuple[bool, bool]]) -> Self:
        """Count pairs of label and decision."""
        counts = Counter(decisions)
        return cls(counts[True, True], counts[False, True], counts[True, False], counts[False, False])

    @property
    def pairs(self) -> int:
        """How many pairs there are."""
        return self.true_positives + self.false_positives + self.false_negatives + self.true_negatives

    @property
    def precision(self) -> float:
        """The share of the found pairs that are duplicates; 1 where nothing was found."""
        found = self.true_positives + self.false_positives
        return self.true_positives / found if found else 1.0

    @property
    def recall(self) -> float:
        """The share of the duplicates that were found; 1 where there are none."""
        wanted = self.true_positives + self.false_negatives
        return self.true_positives / wanted if wanted else 1.0

    @property
    def f1(self) -> float:
        """The harmonic mean of precision and recall."""
        total = self.precision + self.recall
        return 2 * self.precision * self.recall / total if total else 0.0


@dataclass(frozen=True)
class Decided:
    """A pair that was decided.

    Attributes:
        pair: the pair and its label.
        is_found: whether it was taken for duplicates.
        is_order_dependent: whether it is decided otherwise if the second document comes first.
        reason: why the method decided as it did.
        texts: those of the two documents.
        half: 0 or 1, by a hash of the name of the cluster: what was tuned on one half is confirmed on the other.
    """

    pair: LabelledPair
    is_found: bool
    is_order_dependent: bool
    reason: str
    texts: tuple[str, str]
    half: int


@dataclass(frozen=True)
class SetResult:
    """What a method decided on a labelled set, or on several."""

    name: str
    decided: list[Decided]

    @property
    def quality(self) -> Quality:
        """The quality on all pairs."""
        return _quality(self.decided)

    @property
    def kinds(self) -> dict[str, Quality]:
        """The quality by kind of pair, in the order in which kinds occur."""
        kinds = dict.fromkeys(each.pair.kind for each in self.decided)
        return {kind: _quality(each for each in self.decided if each.pair.kind == kind) for kind in kinds}

    @property
    def halves(self) -> tuple[Quality, Quality]:
        """The quality on each half of the clusters."""
        first, second = (_quality(each for each in self.decided if each.half == half) for half in (0, 1))
        return first, second

    @property
    def order_dependent(self) -> int:
        """How many pairs are decided otherwise if the second document comes first."""
        return sum(each.is_order_dependent for each in self.decided)

    @property
    def errors(self) -> list[Decided]:
        """The wrong decisions."""
        return [each for each in self.decided if each.is_found != each.pair.is_duplicate]


def _quality(decided: Iterable[Decided]) -> Quality:
    return Quality.of((each.pair.is_duplicate, each.is_found) for each in decided)


def analyse_documents(
    sets: Sequence[LabelledSet], scheme: Scheme, processes: int | None = None
) -> list[dict[str, AnalysedDocument]]:
    """Make the signatures of all documents, for each set by id; pages are extracted as in a crawl.

    As many processes do it as there are cores, unless it is said.
    """
    lists = [content_of(name) for name in scheme.word_lists]
    analyse = partial(_analyse, scheme=scheme)
    with ProcessPoolExecutor(processes or os.cpu_count(), process_context(), prepare, (lists,)) as pool:
        analysed = [pool.map(analyse, labelled.documents.values(), chunksize=_CHUNK) for labelled in sets]
        total = sum(len(labelled.documents) for labelled in sets)
        results = track(chain.from_iterable(analysed), "analysing", total)
        # Each set takes as many results as it has documents.
        return [dict(zip(each.documents, islice(results, len(each.documents)), strict=True)) for each in sets]


def _analyse(document: LabelledDocument, scheme: Scheme) -> AnalysedDocument:
    # Only the processes that do the work load parser and compiler.
    from dedup.signature.extraction import text_of  # noqa: PLC0415

    text = document.text
    if text is None:
        logging.disable(logging.CRITICAL)  # what trafilatura says of single pages is of no use here
        text = text_of(document.page or b"")
    return AnalysedDocument(text, scheme.signature(text))


def run_method(method: Method, labelled: LabelledSet, documents: dict[str, AnalysedDocument]) -> SetResult:
    """Decide all pairs of a set, its documents analysed by the method's scheme."""
    decided = []
    for pair in track(labelled.pairs, "deciding", len(labelled.pairs)):
        first, second = documents[pair.a], documents[pair.b]
        is_found, reason = method.decide(first, second)
        is_order_dependent = method.decide(second, first)[0] != is_found
        half = _half(labelled.documents[pair.a].cluster)
        decided.append(Decided(pair, is_found, is_order_dependent, reason, (first.text, second.text), half))
    return SetResult(labelled.name, decided)


def pool_results(results: Sequence[SetResult]) -> SetResult:
    """Join what a method decided on several sets."""
    return SetResult("all", [each for result in results for each in result.decided])


def _half(cluster: str) -> int:
    return blake2b(cluster.encode("utf-8", "surrogatepass"), digest_size=1).digest()[0] & 1


_WIDTH = 100
_NAME_WIDTH = 34
_HEAD = f"{'':{_NAME_WIDTH}}  {'pairs':>7}  precision  recall      F1  wrong  missed"
# Comparing texts takes time that grows with the product of their lengths.
_COMPARED = 3_000
_SHOWN_DIFFERENCES = 6


def table(name: str, results: Sequence[SetResult], pooled: SetResult) -> str:
    """Return the results of a method as a table: sets, their kinds of pairs, all pairs, both halves."""
    lines = [cut(plain(name), _WIDTH), _HEAD]
    for result in results:
        lines.append(_row(result.name, result.quality))
        lines += [_row(f"  {kind}", quality) for kind, quality in result.kinds.items() if len(result.kinds) > 1]
    lines.append(_row("all", pooled.quality))
    lines += [_row(f"  {half} half", quality) for half, quality in zip(("one", "other"), pooled.halves, strict=True)]
    pairs = "1 pair is" if pooled.order_dependent == 1 else f"{pooled.order_dependent:,} pairs are"
    lines.append(f"{pairs} decided otherwise if the second document comes first")
    return "\n".join(lines)


def comparison(results: Sequence[tuple[str, SetResult]]) -> str:
    """Return a table with a line for each method: all sets together."""
    return "\n".join(["compared, all sets", _HEAD, *(_row(name, pooled.quality) for name, pooled in results)])


def differences(errors: Sequence[Decided], limit: int) -> str:
    """Return the first wrong decisions, with what differs between the texts."""
    return "\n\n".join("\n".join(_error_lines(error)) for error in errors[:limit])


def as_object(results: Sequence[SetResult]) -> list[dict[str, Any]]:
    """Return results as objects for JSON."""
    return [
        {
            "name": result.name,
            **_figures(result.quality),
            "halves": [_figures(half) for half in result.halves],
            "order_dependent": result.order_dependent,
            "kinds": {kind: _figures(quality) for kind, quality in result.kinds.items()},
        }
        for result in results
    ]


def _figures(quality: Quality) -> dict[str, Any]:
    return {
        "pairs": quality.pairs,
        "true_positives": quality.true_positives,
        "false_positives": quality.false_positives,
        "false_negatives": quality.false_negatives,
        "precision": quality.precision,
        "recall": quality.recall,
        "f1": quality.f1,
    }


def _row(name: str, quality: Quality) -> str:
    if not quality.pairs:
        return f"{cut(plain(name), _NAME_WIDTH):{_NAME_WIDTH}}  {'none':>7}"
    shares = (f"{share:.4f}" for share in (quality.precision, quality.recall, quality.f1))
    precision, recall, f1 = shares
    return (
        f"{cut(plain(name), _NAME_WIDTH):{_NAME_WIDTH}}  {quality.pairs:>7,}  {precision:>9}  {recall:>6}  {f1:>6}  "
        f"{quality.false_positives:>5,}  {quality.false_negatives:>6,}"
    )


def _error_lines(error: Decided) -> Iterator[str]:
    pair = error.pair
    yield f"{'missed' if pair.is_duplicate else 'wrong'}  {plain(pair.a)}  {plain(pair.b)}  {plain(pair.kind)}"
    yield f"  {error.reason}"
    first, second = (" ".join(text.split())[:_COMPARED] for text in error.texts)
    changes = [
        change
        for change in difflib.SequenceMatcher(None, first, second, autojunk=False).get_opcodes()
        if change[0] != "equal"
    ]
    for _, start, end, other_start, other_end in changes[:_SHOWN_DIFFERENCES]:
        yield f"  - {cut(plain(first[max(0, start - 10) : end + 10]), _WIDTH - 4)}"
        yield f"  + {cut(plain(second[max(0, other_start - 10) : other_end + 10]), _WIDTH - 4)}"
    if len(changes) > _SHOWN_DIFFERENCES:
        yield f"  and {len(changes) - _SHOWN_DIFFERENCES:,} more differences"
