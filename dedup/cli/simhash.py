"""`dedup simhash`: each step from a text to its fingerprint, as one would draw them on a board."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any, NamedTuple

from rich.cells import cell_len, set_cell_size

from dedup.cli.lookups import whole
from dedup.cli.settings_options import add_encoding_argument, add_json_argument, add_rule_argument
from dedup.console import counted, plain, print_answer, shortened, similarity
from dedup.errors import InputError
from dedup.readers.files import require_one_document
from dedup.readers.named import TEXT_PREFIX, read_named
from dedup.report.stored_texts import Origin
from dedup.signature.schemes import DEFAULT
from dedup.simhash import HASHES, MOST_BITS, bigrams, cosine, distance, fingerprint_of, hashed, keywords, sums, words

_FEATURES = re.compile(r"bigrams|(words|keywords|textrank)(?::([0-9]{1,6}))?")
_SHOWN = 12
_MOST_TEXTS = 100
_NAME, _TEXT, _SUMS_A_LINE = 20, 100, 16
_SIGNS = str.maketrans("01", "-+")


class _Drawn(NamedTuple):
    """A text and what is made of it: features, each with its weight and hash, the heaviest first; sums; fingerprint."""

    text: str
    features: Mapping[str, float]
    hashed: list[tuple[Any, float, int]]
    sums: list[float]
    fingerprint: int


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    text = f"a text, or a file (text or HTML); {TEXT_PREFIX}... is always a text"
    parser.add_argument("texts", nargs="+", metavar="TEXT", help=text)
    features = "bigrams (of characters), words, words:2 (pairs of words), words:3, keywords:N (TF-IDF), textrank:N "
    features += "(Chinese alone); default: bigrams"
    parser.add_argument("--features", default="bigrams", metavar="NAME", help=features)
    parser.add_argument("--hash", default="mmh3", metavar="NAME", help=f"{', '.join(HASHES)}; default: mmh3")
    parser.add_argument("--bits", default="64", help=f"width of the fingerprint, 1 to {MOST_BITS}; default: 64")
    add_rule_argument(parser, "dictionary")
    add_encoding_argument(parser)
    add_json_argument(parser)


def run(options: argparse.Namespace) -> int:
    """Draw the steps of each text, and how far they are apart."""
    bits = whole("--bits", options.bits, 1, MOST_BITS)
    if len(options.texts) > _MOST_TEXTS:
        raise InputError(f"{len(options.texts)} texts: {_MOST_TEXTS} are drawn at most; `dedup files` compares many")
    drawn = []
    for name in options.texts:
        text = _read(name, options.encoding)
        features = _features(options.features, text, options.dictionary)
        if not features:
            raise InputError(f"'{shortened(plain(name), _NAME)}': no {options.features} in it; take other --features")
        rows = sorted(hashed(features, bits, options.hash), key=lambda row: -row[1])
        totals = sums(features, bits, options.hash)
        drawn.append(_Drawn(text, features, rows, totals, fingerprint_of(totals)))
    pairs = [_pair(*pair) for pair in combinations(enumerate(drawn, 1), 2)]
    lines = (line for number, each in enumerate(drawn, 1) for line in _board(number, each, options, bits))
    print_answer(_object(drawn, pairs, bits), (*lines, *_distances(pairs, bits)), as_json=options.json)
    return 0


def _read(name: str, encoding: str) -> str:
    require_one_document(name)
    text = read_named(name, encoding)
    if text is None:
        if name.isascii() and not any(map(str.isspace, name)):
            shown = shortened(plain(name), _TEXT)
            raise InputError(f"no such file: {shown} (use {TEXT_PREFIX}... for a literal text)")
        return name
    if isinstance(text.content, str):
        # A file ends its lines as its system does, and the last one, too.
        return "\n".join(text.content.splitlines()) if text.origin is Origin.FILE else text.content
    return text.sign(DEFAULT)[0]


def _features(name: str, text: str, dictionary: str | None) -> Mapping[str, float]:
    found = _FEATURES.fullmatch(name)
    if found is None:
        raise InputError(f"--features {name!r}: expected bigrams, words, words:2, keywords:20 or textrank:20")
    given = dictionary or ""
    match found[1]:
        case None if dictionary is not None:
            raise InputError("--dictionary: bigrams are of characters; give it with --features words or keywords")
        case None:
            return bigrams(text)
        case "words":
            return words(text, int(found[2] or 1), given)
    method = "tfidf" if found[1] == "keywords" else "textrank"
    return keywords(text, int(found[2] or 20), method, dictionary=given)


def _board(number: int, each: _Drawn, options: argparse.Namespace, bits: int) -> Iterator[str]:
    shown = each.hashed[:_SHOWN]
    names = [shortened(plain(str(feature)).replace(" ", "␣"), _NAME) for feature, _, _ in shown]
    width = max(map(cell_len, names), default=0)
    weights = _aligned([weight for _, weight, _ in shown])
    left = [f"   {set_cell_size(name, width)}  {weight}  " for name, weight in zip(names, weights, strict=True)]
    rows = [start + f"{value:0{bits}b}" for start, (_, _, value) in zip(left, shown, strict=True)]
    signs = [row[: len(row) - bits] + row[len(row) - bits :].translate(_SIGNS) for row in rows]
    more = [f"   and {len(each.hashed) - _SHOWN:,} more"] * (len(each.hashed) > _SHOWN)
    yield f"text {number}       {shortened(plain(' '.join(each.text.split())), _TEXT)}"
    yield f"1 features   {counted(len(each.hashed), 'feature')} with weights: {options.features}"
    yield from (f"2 hashes     {counted(bits, 'bit')} of {options.hash}", *rows, *more)
    yield from ("3 signs      plus the weight where the hash has 1, minus it where it has 0", *signs, *more)
    yield "4 sums       of each column, the highest bit first"
    totals = _aligned(each.sums)
    yield from ("   " + " ".join(totals[at : at + _SUMS_A_LINE]) for at in range(0, bits, _SUMS_A_LINE))
    yield "5 fingerprint, 1 where the sum is above 0"
    yield from (f"   {each.fingerprint:0{bits}b}", f"   {each.fingerprint:0{-(-bits // 4)}x}, {each.fingerprint}", "")


def _aligned(values: Sequence[float]) -> list[str]:
    texts = [f"{value:.0f}" if value == int(value) else f"{value:.2f}" for value in values]
    width = max(map(len, texts), default=0)
    return [f"{text:>{width}}" for text in texts]


def _pair(one: tuple[int, _Drawn], other: tuple[int, _Drawn]) -> dict[str, Any]:
    (number, a), (their_number, b) = one, other
    both, all_ = a.features.keys() & b.features.keys(), a.features.keys() | b.features.keys()
    return {
        "texts": [number, their_number],
        "differing": f"{a.fingerprint ^ b.fingerprint:0{len(a.sums)}b}",
        "distance": distance(a.fingerprint, b.fingerprint),
        "cosine": cosine(a.features, b.features),
        "jaccard": len(both) / len(all_) if all_ else 0.0,
    }


def _distances(pairs: list[dict[str, Any]], bits: int) -> Iterator[str]:
    for pair in pairs:
        alike = f"cosine {similarity(pair['cosine'])}, Jaccard {similarity(pair['jaccard'])}"
        one, other = pair["texts"]
        yield f"6 distance of {one} and {other}: {counted(pair['distance'], 'bit')} of {bits}; {alike}"
        yield "   " + pair["differing"].replace("0", ".").replace("1", "^")


def _object(drawn: list[_Drawn], pairs: list[dict[str, Any]], bits: int) -> dict[str, Any]:
    def features(each: _Drawn) -> list[dict[str, Any]]:
        return [{"feature": name, "weight": weight, "hash": f"{value:0{bits}b}"} for name, weight, value in each.hashed]

    texts = [
        {
            "text": each.text,
            "features": features(each),
            "sums": each.sums,
            "fingerprint": f"{each.fingerprint:0{bits}b}",
        }
        for each in drawn
    ]
    return {"texts": texts, "pairs": pairs}
