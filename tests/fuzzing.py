"""Feeds what is compiled with strange inputs, under sanitizers that stop at any byte read or written out of place.

`python -m tests.fuzzing [COUNT]`: COUNT inputs (a million), of which some are also signed in Python.
"""

from __future__ import annotations

import importlib.util
import os
import random
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

_SOURCES = sorted(map(str, Path(__file__).parents[1].glob("dedup/native/*.c")))
_SANITIZED = "DEDUP_SANITIZED"
_ALPHABETS = (
    "abz19éя₂-.,!?' \n北京大学上海のをカー々ภาษมြခ្한국םेनأ😀\u0301\u3099\u200d\ufe0f𠮷_฿។१٣\U00016ff0+$€→\u00ad",
    "ab ",
    "北京大学上",
    "ภาษ→",
    "a\u0301\u0327\u0345",
    "+-*/$€😀",
    "\ud800\udfff\x00\x7f\ufdfa",
)


def has_compiler() -> bool:
    """Return whether there is a compiler with its sanitizers."""
    found = subprocess.run(["gcc", "-print-file-name=libasan.so"], capture_output=True, text=True, check=False)
    return found.returncode == 0 and Path(found.stdout.strip()).is_absolute()


def run(count: int, seed: int = 0) -> subprocess.CompletedProcess[str]:
    """Feed so many inputs in a process of its own.

    Args:
        count: how many.
        seed: other inputs.
    """
    with tempfile.TemporaryDirectory() as folder:
        module = Path(folder, "_native.so")
        include, sanitizers = sysconfig.get_path("include"), "-fsanitize=address,undefined"
        flags = ["-O1", "-g", "-shared", "-fPIC", "-fno-sanitize-recover=all", sanitizers, f"-I{include}"]
        subprocess.run(["gcc", *flags, *_SOURCES, "-o", str(module)], check=True)
        asan = subprocess.run(["gcc", "-print-file-name=libasan.so"], capture_output=True, text=True, check=True)
        environment = {
            **os.environ,
            _SANITIZED: str(module),
            "LD_PRELOAD": asan.stdout.strip(),
            "ASAN_OPTIONS": "detect_leaks=0:allocator_may_return_null=1",
            "PYTHONMALLOC": "malloc",
            "OPENBLAS_NUM_THREADS": "1",
        }
        command = [sys.executable, "-m", "tests.fuzzing", str(count), str(seed)]
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


def _load(path: str) -> None:
    spec = importlib.util.spec_from_file_location("dedup._native", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    sys.modules["dedup._native"] = module


def _feed(count: int, seed: int) -> None:
    import numpy as np

    from dedup.compiled import KEY, native
    from dedup.signature import plain
    from dedup.signature.analysis import bands_of
    from dedup.signature.schemes import DEFAULT
    from dedup.signature.segmenter import load_dictionary
    from dedup.signature.signature import MULTIPLIERS, OFFSETS, SIGNATURE
    from dedup.signature.signing import make_signature
    from dedup.signature.text_folding import folding

    chance = random.Random(seed)
    rows, tables, permutations, dictionary = (
        np.zeros(1, SIGNATURE),
        folding(),
        (MULTIPLIERS, OFFSETS),
        load_dictionary(),
    )

    def some_bytes(most: int) -> bytes:
        if chance.random() < 0.5:
            return chance.randbytes(chance.randrange(most))
        return bytes(chance.choices(b"\n\n a1\x80\xc3\xe5\xf0\xf7\xff\0", k=chance.randrange(most)))

    for number in range(count):
        text = "".join(chance.choices(chance.choice(_ALPHABETS), k=chance.choice((2, 9, 70, 300))))
        signature = make_signature(text)
        if number % 50 == 0:
            expected = plain.sign(text, DEFAULT)
            assert (signature.text_digest, signature.fingerprint, signature.sketch, signature.words) == (
                expected.text_digest,
                expected.fingerprint,
                expected.sketch,
                expected.words,
            ), repr(text)
        # What is no UTF-8 has no meaning, and does no harm.
        data = some_bytes(200)
        for refused in (0, 1):
            given = np.array([0, len(data)]), refused, True, True, True, tables, dictionary, permutations, KEY, rows
            native.sign(data, *given)
        native.combining(data, 0, len(data), 9, tables.classes, tables.starts)
        a, b = some_bytes(60), some_bytes(60)
        native.bounds(a, b, KEY)
        native.shared_tokens(a, b, KEY)
        tokens = a.replace(b"\n\n", b"\n").strip(b"\n")
        assert bands_of(tokens).tolist() == plain.bands_of(tokens).tolist()
        edges = np.zeros((1 << 6) + (1 << 15), np.uint64)
        native.read_dictionary(
            "一二三".encode() * chance.randrange(3) + some_bytes(80), edges, np.zeros(len(edges) + 1, np.int64)
        )
    for text in ("x" * 40_000_000, "一" * 13_000_000, "a " * 20_000_000):
        make_signature(text[: 40 * max(1, count)])


if __name__ == "__main__":
    _count, _seed = (
        (int(each) for each in (*sys.argv[1:], "1000000", "0")[:2]) if len(sys.argv) < 3 else map(int, sys.argv[1:3])
    )
    if _SANITIZED in os.environ:
        _load(os.environ[_SANITIZED])
        _feed(_count, _seed)
    else:
        _done = run(_count, _seed)
        print(_done.stdout + _done.stderr[-5_000:] or f"{_count:,} inputs: nothing out of place")
        sys.exit(_done.returncode)
