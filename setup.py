"""The part of dedup that is compiled: see `dedup/native/`, and `build_backend.py` for where there is no C compiler."""

from pathlib import Path

from setuptools import Extension, setup

setup(
    ext_modules=[
        Extension(
            "dedup._native",
            sorted(map(str, Path("dedup/native").glob("*.c"))),
            depends=sorted(map(str, Path("dedup/native").glob("*.h"))),
            extra_compile_args=["-O3", "-Wall", "-Wextra", "-Wno-unused-parameter"],
            # Where it cannot be built Python does the same.
            optional=True,
        )
    ]
)
