"""Signature to verdict for the documents of a corpus: the rules of `dedup.deduplicator`, all in memory.

The verdicts are those that `Deduplicator` gives for the same documents in the same order, if every
document has a key of its own. Here a key is but a name: two records of one key are two documents, and
the second one may be a copy of the first, as any other. (In a crawl a key is a page, which is looked at
again; what a file said of a key before has been written already and cannot be taken back.)
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache, partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dedup.confirmation import Confirmation, Words
from dedup.corpus.advancing import COPY, UNDECIDED, Ends, Found, Lines, Rows, Rules, advance
from dedup.corpus.batches import SignedBatch
from dedup.corpus.candidates import Candidates
from dedup.corpus.closest import Closest
from dedup.corpus.joining import CorpusJoining
from dedup.corpus.known import NOWHERE, KnownDocuments, Lengths
from dedup.corpus.mutual_probing import compiled_brings
from dedup.corpus.scanning import LookUps, Scan
from dedup.corpus.shared_shingles import most_rewritten
from dedup.corpus.signed import Signed, identity_of
from dedup.corpus.words import WordSource
from dedup.decision import Decision, Verdict, decision_of
from dedup.documents import Content, Match
from dedup.fingerprint.schemes import find_scheme
from dedup.settings import DedupSettings, Mode
from dedup.verification import is_comparable, plan_of


class Duplicate(NamedTuple):
    """A line that is a copy of a document before it.

    Attributes:
        place: its place among the lines.
        decision: the decision on it.
        leader: the number of the leader of its cluster.
    """

    place: int
    decision: Decision
    leader: int


class CorpusDeduplicator:
    """Decides documents one after the other.

    Args:
        settings: how matches are found and decided.
        folder: where is kept what does not stand in memory.
        lengths: what the last checkpoint returned; nothing: begin anew.
        words: gives the words of documents.
        threads: how many look for candidates at the same time.

    Raises:
        SettingsError: the table design is none that the index in memory has.
        InputError: the files in the folder are not what the checkpoint says.
    """

    def __init__(
        self,
        settings: DedupSettings,
        folder: Path,
        lengths: Lengths | None = None,
        words: WordSource | None = None,
        threads: int = 1,
    ) -> None:
        self._settings = settings
        self._source = words or WordSource()
        self._is_paper = settings.mode is Mode.PAPER
        self._rules = Rules.of(settings)
        self._index = Candidates(settings, threads)
        brings = compiled_brings(plan_of(settings), find_scheme(settings.scheme))
        self._confirmation = Confirmation(settings, brings, most_rewritten)
        self._known = KnownDocuments(folder, lengths)
        self._joining = CorpusJoining(settings, self._known, folder, lengths or Lengths())
        if len(self._known):
            self._index.add_many(*self._known.indexed)
        self._ahead: tuple[SignedBatch, LookUps] | None = None

    @property
    def nbytes(self) -> int:
        """How many bytes of memory the documents take, index included."""
        return self._known.nbytes + self._index.nbytes

    def __len__(self) -> int:
        """How many different contents are known."""
        return len(self._known)

    def decide(self, key: str, signed: Signed) -> tuple[Decision, int | None]:
        """Decide a document, and know it from now on.

        Args:
            key: what it is called.
            signed: its signature.

        Returns:
            The decision, and the number of the leader that it is a duplicate of, if it is.
        """
        identity = identity_of(signed)
        if identity is None:
            return Decision(Verdict.NEW, text_bytes=signed.text_bytes), None
        twin = self._known.find(identity)
        match = self._find_near(signed) if twin is None else self._match(twin)
        if twin is None:
            self._add(key, identity, signed, match)
        return decision_of(Verdict.NEW, _content(identity, signed), match), None if match is None else match.leader.id

    def decide_lines(self, lines: SignedBatch, following: SignedBatch | None = None) -> list[Duplicate]:
        """Decide documents that are lines, one after the other, and know them from now on.

        Args:
            lines: the documents, and their signatures.
            following: those that will come next, if they are known: threads look for their candidates meanwhile.

        Returns:
            Those that are duplicates, in their order; all others are new.
        """
        scan = self._index.scan_for(len(lines))
        if scan is None or self._is_paper:
            if self._ahead is not None:
                # Nothing is moved while threads read it.
                self._ahead[1].result()
                self._ahead = None
            decided = [(place, *self.decide(lines.key(place), lines.signed(place))) for place in range(len(lines))]
            return [Duplicate(place, decision, leader) for place, decision, leader in decided if leader is not None]
        return self._decide_together(lines, following, scan)

    def leaders_of(self, numbers: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the leaders of the clusters that documents belong to now, each of which may be the document itself."""
        leaders: NDArray[np.int64] = self._known.rows["leader"][numbers]
        return np.where(leaders == NOWHERE, numbers, leaders)

    def key(self, number: int) -> str:
        """Return the key of a document by its number."""
        return self._known.key(number)

    def keys(self, numbers: NDArray[np.int64]) -> Iterator[str]:
        """Yield the keys of some documents by their numbers."""
        return self._known.keys(numbers)

    def checkpoint(self) -> Lengths:
        """Make all of it safe; return what a resumed run begins with."""
        return self._joining.checkpoint()

    def close(self) -> None:
        """Close the files."""
        self._known.close()
        self._joining.close()
        self._index.close()

    def _find_near(self, signed: Signed) -> Match | None:
        sketch = signed.sketch
        if not is_comparable(sketch.tokens, signed.fingerprint, self._settings):
            return None
        candidates = self._index.closest(signed.fingerprint, signed.margins)
        if self._is_paper:
            return self._match(int(candidates[0])) if len(candidates) else None
        return self._confirmed(signed, self._known.worth_checking(sketch, candidates, self._rules.thresholds))

    def _confirmed(self, signed: Signed, candidates: list[int]) -> Match | None:
        """Return the first candidate that the document is a duplicate of; join clusters that it shows to be one."""
        # Of a form there are many candidates to compare it with.
        is_confirmed = partial(self._is_confirmed, signed, cache(partial(self._source.words, signed.words)))
        for place, number in enumerate(candidates):
            match = self._match(number)
            if is_confirmed(match):
                return self._joining.find(match, candidates[place + 1 :], self._match, is_confirmed)
        return None

    def _is_confirmed(self, signed: Signed, own_words: Words, match: Match) -> bool:
        return self._confirmation.holds(
            signed.fingerprint,
            signed.sketch,
            match,
            own_words,
            partial(self._words, match.member.id),
        )

    def _decide_together(self, lines: SignedBatch, following: SignedBatch | None, scan: Scan) -> list[Duplicate]:
        closest = self._closest(lines, scan)
        count, tokens = len(lines), lines.rows["tokens"]
        rules = self._rules
        is_near = (tokens >= rules.fewest_tokens) & (lines.rows["fingerprint"] != rules.without_features)
        has_words = is_near & (tokens <= rules.most_tokens)
        room = self._known.room(count)
        entering = (
            Lines(
                **{name: lines.rows[name] for name in Lines._fields[:-2]},
                key_bytes=lines.key_bytes,
                word_bytes=lines.word_bytes,
            ),
            Rows(**{name: room.rows[name] for name in Rows._fields[:-2]}, briefs=room.briefs, slots=room.slots),
            scan.room(count),
            closest,
            rules,
        )
        ends = Ends(len(self._known), len(scan), room.keys_end, room.words_end)
        self._ahead = None
        if following is not None and self._index.scan_for(count + len(following)) is scan:
            self._ahead = following, _look_up(scan, following)
        found = Found.room(count)
        duplicates: list[Duplicate] = []
        place = start = 0
        leader = UNDECIDED
        while place < count:
            place, candidates, ends = advance(found, place, leader, *entering, ends)
            if place == count or not self._is_all_known(candidates):
                entered = start + np.flatnonzero(found.kinds[start:place] <= COPY)
                with_words = entered[has_words[entered]]
                self._known.entered(ends.known, lines.keys_of(entered), lines.words_of(with_words))
                start = place
            if place < count:
                signed = lines.signed(place)
                match = self._confirmed(signed, candidates.tolist())
                leader = NOWHERE if match is None else match.leader.id
                if match is not None:
                    duplicates.append(self._duplicate(place, signed, match))
        scan.entered(ends.scanned)
        # No place comes twice, so that nothing else is compared.
        return sorted([*self._copies(lines, found), *duplicates])

    def _is_all_known(self, candidates: NDArray[np.int64]) -> bool:
        """Say whether all that a look at candidates may ask for is there, without what was entered last."""
        if candidates.max() >= len(self._known):
            return False
        # Whether a cluster may join another one depends on all its members.
        return len(candidates) == 1 or len(set(self.leaders_of(candidates).tolist())) == 1

    def _closest(self, lines: SignedBatch, scan: Scan) -> Closest:
        """Return the closest documents of some lines, looked for ahead or now."""
        ahead, self._ahead = self._ahead, None
        look_ups = ahead[1] if ahead is not None and ahead[0] is lines else _look_up(scan, lines)
        # Nothing is kept of them, so that what they look up in may be sorted anew without a copy.
        return look_ups.result()

    def _copies(self, lines: SignedBatch, found: Found) -> list[Duplicate]:
        """Return the duplicates that compiled code found, in the clusters that they belonged to then."""
        places = np.flatnonzero(found.leaders != NOWHERE)
        if not len(places):
            return []
        members, leaders = found.members[places], found.leaders[places]
        columns = (places, leaders, found.is_exact[places], found.distances[places], found.similarities[places])
        sizes = lines.rows["text_bytes"][places]
        return [
            Duplicate(
                place,
                Decision(
                    Verdict.EXACT_DUPLICATE if is_exact else Verdict.NEAR_DUPLICATE,
                    original,
                    matched,
                    distance,
                    similarity,
                    size,
                ),
                leader,
            )
            for original, matched, place, leader, is_exact, distance, similarity, size in zip(
                *self._known.keys_of_copies(leaders, members),
                *(column.tolist() for column in (*columns, sizes)),
                strict=True,
            )
        ]

    @staticmethod
    def _duplicate(place: int, signed: Signed, match: Match) -> Duplicate:
        return Duplicate(place, decision_of(Verdict.NEW, _content(signed.text_digest, signed), match), match.leader.id)

    def _words(self, number: int) -> bytes:
        known = self._known.words(number)
        return known and self._source.words(known)

    def _match(self, number: int) -> Match:
        member = self._known.stored(number)
        return Match(member if member.leader_id is None else self._known.stored(member.leader_id), member)

    def _add(self, key: str, identity: bytes, signed: Signed, match: Match | None) -> None:
        tokens = signed.sketch.tokens
        is_near = is_comparable(tokens, signed.fingerprint, self._settings)
        # The paper's crawler forgets duplicates.
        is_indexed = is_near and not (match is not None and self._is_paper)
        has_words = is_near and not self._is_paper and tokens <= self._settings.max_compared
        leader = None if match is None else match.leader.id
        number = self._known.add(key, identity, signed, leader, indexed=is_indexed, words=has_words)
        if is_indexed:
            self._index.add(number, signed.fingerprint)


def _content(identity: bytes, signed: Signed) -> Content:
    return Content(identity, signed.fingerprint, signed.sketch, signed.text_bytes, None, b"")


def _look_up(scan: Scan, lines: SignedBatch) -> LookUps:
    return scan.begin(lines.rows["fingerprint"], lines.rows["margins"])
