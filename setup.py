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
            # One wheel of a platform is for Python 3.11 and all later ones.
            define_macros=[("Py_LIMITED_API", "0x030B0000")],
            py_limited_api=True,
            # Where it cannot be built Python does the same.
            optional=True,
        )
    ],
    options={"bdist_wheel": {"py_limited_api": "cp311"}},
)
