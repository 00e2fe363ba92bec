"""What `dedup/native/` has: what is compiled when the package is built."""

from typing import Any

from numpy.typing import NDArray

_Bytes = bytes | NDArray[Any]
_Folding = tuple[NDArray[Any], NDArray[Any], NDArray[Any]]
_Trie = tuple[NDArray[Any], NDArray[Any]]
_Permutations = tuple[NDArray[Any], NDArray[Any]]
_Chains = tuple[NDArray[Any], NDArray[Any], int, int, int, int]

def sign(
    data: _Bytes,
    offsets: NDArray[Any],
    refused: int,
    segmenter: bool,
    with_words: bool,
    with_rows: bool,
    folding: _Folding,
    trie: _Trie,
    permutations: _Permutations,
    key: int,
    rows: NDArray[Any],
    /,
) -> tuple[int, bytes, bytes]: ...
def combining(
    data: _Bytes, start: int, end: int, most: int, classes: NDArray[Any], starts: NDArray[Any], /
) -> bytes: ...
def read_dictionary(data: bytes, edges: NDArray[Any], frequencies: NDArray[Any], /) -> tuple[int, bool, int]: ...
def bands_of(tokens: bytes, permutations: _Permutations, /) -> bytes: ...
def bounds(a: bytes, b: bytes, key: int, /) -> tuple[float, float, float, float, float, bool, bool] | None: ...
def shared_tokens(text: bytes, other: bytes, key: int, /) -> bytes | None: ...
def find_document(digests: NDArray[Any], slots: NDArray[Any], key: int, wanted: bytes, /) -> int: ...
def enter_documents(digests: NDArray[Any], slots: NDArray[Any], key: int, start: int, end: int, /) -> None: ...
def reserve(
    digests: NDArray[Any],
    slots: NDArray[Any],
    key: int,
    first: int,
    new: NDArray[Any],
    has_digest: NDArray[Any],
    numbers: NDArray[Any],
    originals: NDArray[Any],
    /,
) -> None: ...
def chain_again(chains: _Chains, entries: int, /) -> None: ...
def add_keys(chains: _Chains, hashes: NDArray[Any], indexed: NDArray[Any], first: int, /) -> None: ...
def find_closest(
    chains: _Chains, hashes: NDArray[Any], fingerprints: NDArray[Any], fingerprint: int, radius: int, /
) -> int: ...
def find_candidates(
    chains: _Chains,
    hashes: NDArray[Any],
    numbers: NDArray[Any],
    comparable: NDArray[Any],
    fingerprints: NDArray[Any],
    weights: NDArray[Any],
    most: int,
    radius: int,
    ends: NDArray[Any],
    found: NDArray[Any],
    /,
) -> None: ...
