"""What `dedup/native/` has: what is compiled when the package is built."""

from typing import Any

from numpy.typing import NDArray

_Bytes = bytes | NDArray[Any]
_Folding = tuple[NDArray[Any], NDArray[Any], NDArray[Any]]
_Trie = tuple[NDArray[Any], NDArray[Any]]
_Permutations = tuple[NDArray[Any], NDArray[Any]]

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
