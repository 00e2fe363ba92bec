"""Precision and recall on labelled pairs: read, decided by each method, counted."""

from __future__ import annotations

import gzip
import logging
import math
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from hashlib import blake2b
from itertools import chain, islice
from pathlib import Path
from typing import Any, Protocol, Self

from dedup.console import Line, plain, shortened, track
from dedup.errors import InputError
from dedup.readers.documents import BadRecordError
from dedup.readers.jsonl import fields_of
from dedup.readers.streams import BYTE_ORDER_MARK
from dedup.report.stored_texts import find_texts
from dedup.report.words import are_too_long, diff_words, place_line, tokens_of
from dedup.rules.settings import RuleSettings
from dedup.rules.two_texts import PairDecider
from dedup.rules.word_comparison import jaccard, shingles_of
from dedup.signature.dictionaries import content_of, prepare
from dedup.signature.schemes import DEFAULT, Scheme, find_scheme
from dedup.signature.signature import Signature, without_signs
from dedup.signature.signing import make_signature
from dedup.simhash import cosine
from dedup.store.database import Database
from dedup.workers.pool import process_context

_GZIP = b"\x1f\x8b"
_OF_A_SET = "; a labelled set has docs.jsonl and pairs.jsonl"

# Documents that a process is sent at once.
_CHUNK = 16

_WIDTH = 100
_NAME_WIDTH = 34
_HEAD = f"{'':{_NAME_WIDTH}}  {'pairs':>7}  precision  recall      F1  wrong  missed"
_SHOWN_DIFFERENCES = 6


@dataclass(frozen=True, slots=True)
class LabelledDocument:
    """A document of a labelled set: its text, or the bytes of its page.

    Attributes:
        text: the text, None where there is a page.
        page: the bytes of the page, None where there is a text.
        cluster: what it shares with the documents that belong to it; its own id where it is alone.
    """

    text: str | None
    page: bytes | None
    cluster: str


@dataclass(frozen=True, slots=True)
class LabelledPair:
    """Two documents, by id, and whether they are near-duplicates."""

    a: str
    b: str
    is_duplicate: bool
    kind: str


@dataclass(frozen=True)
class LabelledSet:
    """Documents by id and labelled pairs of them; undecided pairs are left out."""

    name: str
    documents: dict[str, LabelledDocument]
    pairs: list[LabelledPair]


def read_set(folder: Path, limit: int | None = None) -> LabelledSet:
    """Read a labelled set, or only its first documents.

    Raises:
        InputError: a file is missing or is not what it should be.
    """
    documents: dict[str, LabelledDocument] = {}
    for where, line in _lines(folder / "docs.jsonl", _OF_A_SET):
        if limit is not None and len(documents) >= limit:
            break
        if not isinstance(line.get("id"), str) or not isinstance(line.get("text", line.get("html")), str):
            raise InputError(f"{where}: expected 'id' and either 'text' or 'html', all strings")
        page = None if "text" in line else _read_page(folder / line["html"], where)
        documents[line["id"]] = LabelledDocument(line.get("text"), page, str(line.get("cluster") or line["id"]))
    path = folder / "pairs.jsonl"
    pairs = []
    for where, pair in _pairs(path, _OF_A_SET):
        unknown = {pair.a, pair.b} - documents.keys()
        if unknown and limit is None:
            raise InputError(f"{where}: no document has the id {min(unknown)!r}")
        if not unknown:
            pairs.append(pair)
    return LabelledSet(folder.resolve().name, documents, pairs)


def read_pairs(path: Path) -> list[LabelledPair]:
    """Read a file of labelled pairs, such as the marks of a report; undecided pairs are left out.

    Raises:
        InputError: it cannot be read, or is not what it should be.
    """
    return [pair for _, pair in _pairs(path)]


def _pairs(path: Path, hint: str = "") -> Iterator[tuple[str, LabelledPair]]:
    """Yield the decided pairs of a file, each with where it stands."""
    for where, line in _lines(path, hint):
        if not isinstance(line.get("a"), str) or not isinstance(line.get("b"), str) or "label" not in line:
            raise InputError(f"{where}: expected 'a', 'b' and 'label'")
        if line["label"] not in (0, 1, None):
            raise InputError(f"{where}: label {line['label']!r}: expected 0, 1 or null")
        if line["label"] is not None:
            yield where, LabelledPair(line["a"], line["b"], bool(line["label"]), str(line.get("kind") or ""))


def _lines(path: Path, hint: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the objects of a JSON Lines file, each with where it stands; a hint is told if it cannot be read."""
    try:
        # Editors begin files with a mark.
        lines = path.read_bytes().removeprefix(BYTE_ORDER_MARK).split(b"\n")
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error}){hint}") from None
    for number, line in enumerate(lines, 1):
        if line.strip():
            where = f"{path}, line {number}"
            try:
                fields = fields_of(line)
            except BadRecordError as error:
                raise InputError(f"{where}: {error}") from None
            yield where, fields


def _read_page(path: Path, where: str) -> bytes:
    try:
        data = path.read_bytes()
        return gzip.decompress(data) if data.startswith(_GZIP) else data
    except (OSError, EOFError) as error:
        raise InputError(f"{where}: {path} cannot be read ({error})") from None


def read_marked(path: Path, database: Database) -> tuple[LabelledSet, int]:
    """Read pairs that a person has marked, with their texts, or with the words of those that are not stored.

    Args:
        path: the file of pairs, see `dedup.evaluation.read_pairs`.
        database: where the documents are known.

    Returns:
        The set, and how many pairs are left out, because neither text nor words of a document are stored.

    Raises:
        InputError: the file is not what it should be, or no pair is left.
    """
    pairs = read_pairs(path)
    if not pairs:
        raise InputError(f"{path}: no marks; mark pairs in a report, and save them")
    texts = find_texts(database, dict.fromkeys(key for pair in pairs for key in (pair.a, pair.b)))
    known = [pair for pair in pairs if pair.a in texts and pair.b in texts]
    if not known:
        raise InputError(
            f"{path}: database {database.name} has the texts or words of none of these {len(pairs):,} pairs: "
            "name the database that the report was made of"
        )
    clusters = {pair.b: pair.a for pair in known}
    documents = {key: LabelledDocument(text, None, clusters.get(key, key)) for key, (_, text) in texts.items()}
    return LabelledSet(path.stem, documents, known), len(pairs) - len(known)


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
            f"{decision.rule.says}: distance {decision.distance}, estimated Jaccard {likeness.jaccard:.2f}, "
            f"containment {likeness.containment:.2f}, length ratio {likeness.length_ratio:.2f}"
        )


class Reference:
    """An exact measure in the place of the pipeline: duplicates are what reaches a threshold.

    Args:
        measure: `jaccard=.6`, of the shingles of three words, or `cosine=.9`, of the words by how often they come.

    Raises:
        InputError: it is neither.
    """

    scheme = DEFAULT

    def __init__(self, measure: str) -> None:
        self.name = f"exact {measure}"
        name, _, threshold = measure.partition("=")
        try:
            self._measure, self._threshold = _MEASURES[name], float(threshold)
        except (KeyError, ValueError):
            self._threshold = math.nan
        if not 0 <= self._threshold <= 1:
            raise InputError(f"--reference {measure!r}: write jaccard=.6 or cosine=.9, 0 to 1")

    def decide(self, first: AnalysedDocument, second: AnalysedDocument) -> tuple[bool, str]:
        """Return whether the measure reaches the threshold, and what it is."""
        value = self._measure(*(without_signs(each.signature.words).split(b"\n") for each in (first, second)))
        return value >= self._threshold, f"{self.name}: {value:.3f}"


_MEASURES: dict[str, Callable[[list[bytes], list[bytes]], float]] = {
    "jaccard": lambda a, b: jaccard(shingles_of(a), shingles_of(b)),
    "cosine": cosine,
}


@dataclass(frozen=True, slots=True)
class Quality:
    """Counts of true positives, false positives and false negatives."""

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
    """The decisions of a method on one labelled set, or on several."""

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
    # Only the processes that do the work load the parser.
    from dedup.signature.pages import analyse_page  # noqa: PLC0415

    if document.text is not None:
        return AnalysedDocument(document.text, make_signature(document.text, scheme))
    logging.disable(logging.CRITICAL)  # what trafilatura says of single pages is of no use here
    return AnalysedDocument(*analyse_page(document.page or b"", scheme))


def run_method(method: Method, labelled: LabelledSet, documents: dict[str, AnalysedDocument]) -> SetResult:
    """Decide all pairs of a set, its documents analysed by the method's scheme."""
    decided = []
    for pair in track(labelled.pairs, "deciding", len(labelled.pairs)):
        first, second = documents[pair.a], documents[pair.b]
        is_found, reason = method.decide(first, second)
        is_order_dependent = method.decide(second, first)[0] != is_found
        half = half_of(labelled.documents[pair.a].cluster)
        decided.append(Decided(pair, is_found, is_order_dependent, reason, (first.text, second.text), half))
    return SetResult(labelled.name, decided)


def pool_results(results: Sequence[SetResult]) -> SetResult:
    """Join what a method decided on several sets."""
    return SetResult("all", [each for result in results for each in result.decided])


def half_of(cluster: str) -> int:
    """Return 0 or 1, by a hash of the name of a cluster."""
    return blake2b(cluster.encode("utf-8", "surrogatepass"), digest_size=1).digest()[0] & 1


def table(name: str, results: Sequence[SetResult], pooled: SetResult) -> str:
    """Return the results of a method as a table: sets, their kinds of pairs, all pairs, both halves."""
    lines = [shortened(plain(name), _WIDTH), _HEAD]
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


def differences(errors: Sequence[Decided], limit: int) -> Iterator[Line]:
    """Yield the first wrong decisions in lines, with what differs between the texts."""
    for error in errors[:limit]:
        yield ""
        yield from _error_lines(error)


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
    counts = ("pairs", "true_positives", "false_positives", "false_negatives")
    return {name: getattr(quality, name) for name in (*counts, "precision", "recall", "f1")}


def _row(name: str, quality: Quality) -> str:
    head = f"{shortened(plain(name), _NAME_WIDTH):{_NAME_WIDTH}}"
    if not quality.pairs:
        return f"{head}  {'none':>7}"
    return (
        f"{head}  {quality.pairs:>7,}  {quality.precision:>9.4f}  {quality.recall:>6.4f}  {quality.f1:>6.4f}  "
        f"{quality.false_positives:>5,}  {quality.false_negatives:>6,}"
    )


def _error_lines(error: Decided) -> Iterator[Line]:
    pair = error.pair
    yield f"{'missed' if pair.is_duplicate else 'wrong'}  {plain(pair.a)}  {plain(pair.b)}  {plain(pair.kind)}"
    yield f"  {error.reason}"
    first, second = (tokens_of(text, DEFAULT) for text in error.texts)
    if are_too_long(len(first), len(second)):
        return
    found = diff_words(first, second)
    yield from (place_line(place) for place in found.places[:_SHOWN_DIFFERENCES])
    if found.place_count > _SHOWN_DIFFERENCES:
        yield f"  and {found.place_count - _SHOWN_DIFFERENCES:,} more differences"
