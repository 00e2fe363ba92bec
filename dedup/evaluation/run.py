"""Run methods over labelled sets."""

from __future__ import annotations

import logging
import multiprocessing
import os
from collections import defaultdict
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from hashlib import blake2b

from dedup.evaluation.labelled import LabelledDocument, LabelledPair, LabelledSet
from dedup.evaluation.methods import AnalysedDocument, Method
from dedup.evaluation.quality import Quality
from dedup.fingerprint.schemes import Scheme
from dedup.fingerprint.word_lists import content_of, prepare

# Documents that a process is sent at once.
_CHUNK = 16


@dataclass(frozen=True)
class Error:
    """A pair that was decided wrongly.

    Attributes:
        pair: the pair and its label.
        reason: why the method decided as it did.
        first: the text of the first document.
        second: the text of the second.
    """

    pair: LabelledPair
    reason: str
    first: str
    second: str


@dataclass
class SetResult:
    """What a method decided on a labelled set.

    Attributes:
        name: that of the set.
        kinds: the quality by kind of pair, in the order in which kinds occur.
        halves: the quality on each half of the clusters, chosen by a hash of their names: what was
            tuned on one half is confirmed on the other.
        order_dependent: pairs that are decided otherwise if the second document comes first.
        errors: the wrong decisions.
    """

    name: str
    kinds: dict[str, Quality] = field(default_factory=dict)
    halves: tuple[Quality, Quality] = (Quality(), Quality())
    order_dependent: int = 0
    errors: list[Error] = field(default_factory=list)

    @property
    def quality(self) -> Quality:
        """The quality on the whole set."""
        return self.halves[0] + self.halves[1]


def analyse_documents(
    sets: Sequence[LabelledSet], scheme: Scheme, processes: int | None = None
) -> list[dict[str, AnalysedDocument]]:
    """Make the signatures of all documents; pages are extracted as in a crawl.

    Args:
        sets: the labelled sets.
        scheme: how signatures are made.
        processes: how many processes do it; None: one a core.

    Returns:
        For each set the documents by id.
    """
    # Forking a process that has threads is not safe; compiled code and dictionary are loaded once.
    method = "forkserver" if "forkserver" in multiprocessing.get_all_start_methods() else "spawn"
    context = multiprocessing.get_context(method)
    context.set_forkserver_preload(["dedup.preloaded"])
    lists = [content_of(name) for name in scheme.word_lists]
    analyse = partial(_analyse, scheme=scheme)
    with ProcessPoolExecutor(processes or os.cpu_count(), context, prepare, (lists,)) as pool:
        analysed = [pool.map(analyse, labelled.documents.values(), chunksize=_CHUNK) for labelled in sets]
        return [dict(zip(labelled.documents, each, strict=True)) for labelled, each in zip(sets, analysed, strict=True)]


def _analyse(document: LabelledDocument, scheme: Scheme) -> AnalysedDocument:
    # Only the processes that do the work load parser and compiler.
    from dedup.extraction import main_text, parse_html  # noqa: PLC0415

    text = document.text
    if text is None:
        logging.disable(logging.CRITICAL)  # what trafilatura says of single pages is of no use here
        tree = parse_html(document.page or b"")
        text = "" if tree is None else main_text(tree)
    return AnalysedDocument(text, scheme.signature(text))


def run_method(method: Method, labelled: LabelledSet, documents: dict[str, AnalysedDocument]) -> SetResult:
    """Decide all pairs of a set.

    Args:
        method: decides them.
        labelled: the set.
        documents: its documents, analysed by the method's scheme.
    """
    result = SetResult(labelled.name)
    halves: tuple[list[tuple[bool, bool]], list[tuple[bool, bool]]] = ([], [])
    kinds: dict[str, list[tuple[bool, bool]]] = defaultdict(list)
    for pair in labelled.pairs:
        first, second = documents[pair.a], documents[pair.b]
        is_found, reason = method.decide(first, second)
        for decisions in (halves[_half(labelled.documents[pair.a].cluster)], kinds[pair.kind]):
            decisions.append((pair.is_duplicate, is_found))
        result.order_dependent += method.decide(second, first)[0] != is_found
        if is_found != pair.is_duplicate:
            result.errors.append(Error(pair, reason, first.text, second.text))
    result.halves = (Quality.of(halves[0]), Quality.of(halves[1]))
    result.kinds = {kind: Quality.of(each) for kind, each in kinds.items()}
    return result


def pool_results(results: Sequence[SetResult]) -> SetResult:
    """Add up what a method decided on several sets."""
    pooled = SetResult("all")
    for result in results:
        pooled.halves = (pooled.halves[0] + result.halves[0], pooled.halves[1] + result.halves[1])
        pooled.order_dependent += result.order_dependent
        pooled.errors += result.errors
        for kind, quality in result.kinds.items():
            pooled.kinds[kind] = pooled.kinds.get(kind, Quality()) + quality
    return pooled


def _half(cluster: str) -> int:
    return blake2b(cluster.encode("utf-8", "surrogatepass"), digest_size=1).digest()[0] & 1
