"""Why Spark failed, in one line that names the way out where it is known."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

from py4j.protocol import Py4JNetworkError

_JAVAS = ("17", "21")
_SECONDS = 30
_VERSION = re.compile(r'version "(?:1\.)?(\d+)')
_NAMED = r"([^\r\n]*)"
_FOLDERS = "--conf spark.local.dir=DIR names a folder with more"
_SAME_PYTHON = (
    "Python of the executors: have scrapy-neardup[spark] installed in the Python that PYSPARK_PYTHON names, on all "
    "machines"
)
# What stands in an error, and what to tell; `{}` is what the group of the expression has found.
_KNOWN = (
    (
        r"(OutOfMemoryError: [^\r\n]*|GC overhead limit exceeded)",
        (
            "{}; give --conf spark.driver.memory=4g or more, and where executors are other machines "
            "spark.executor.memory; more partitions (spark.sql.shuffle.partitions) need less at once"
        ),
    ),
    (r"No space left on device|Disk quota exceeded", f"no space left on the disk for what is on its way; {_FOLDERS}"),
    (
        rf"\[PYTHON_VERSION_MISMATCH\] {_NAMED}",
        "{} Set PYSPARK_PYTHON to a Python of the same version",
    ),
    (rf'Cannot run program "([^"]+)"{_NAMED}', f"cannot run {{}}; {_SAME_PYTHON}"),
    (rf"(?:ModuleNotFoundError|PySparkImportError|ImportError): {_NAMED}", f"{{}}; {_SAME_PYTHON}"),
    (
        r"(?m)Python worker exited unexpectedly|^MemoryError\b",
        (
            "a Python process ended, most likely for want of memory: let fewer work at once (--conf "
            "spark.master=local[2], or spark.executor.cores), give more to each (spark.executor.memoryOverhead), or "
            "leave very long documents out (--max-bytes)"
        ),
    ),
)


def reason_of(error: Exception) -> str:
    """Return the line that says what is wrong: of an error in Python, which comes with its trace, the last one."""
    if isinstance(error, (Py4JNetworkError, ConnectionError, EOFError)):
        return (
            "its Java process has ended, most likely for want of memory: give less to it (--conf spark.driver.memory) "
            "or let fewer work at once (--conf spark.master=local[2])"
        )
    told = str(error)
    for expression, advice in _KNOWN:
        if found := re.search(expression, told):
            return advice.format(found[1].strip().rstrip(".;") if found.groups() else "")
    lines = [line.strip() for line in told.splitlines() if line.strip()]
    trace = next((place for place, line in enumerate(lines) if line.startswith("Traceback")), None)
    if trace is None:
        return lines[0] if lines else type(error).__name__
    return lines[-1]


def java_is_to_blame() -> str | None:
    """Say what is wrong with the Java that Spark has found; None: nothing."""
    home = os.environ.get("JAVA_HOME")
    java = str(Path(home) / "bin" / "java") if home else "java"
    way_out = f"install a JRE of Java {' or '.join(_JAVAS)}, or have JAVA_HOME name one"
    try:
        told = subprocess.run(  # noqa: S603 -- what Spark has just run
            [java, "-version"], capture_output=True, text=True, timeout=_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"{java}: {getattr(error, 'strerror', None) or error}; {way_out}"
    version = _VERSION.search(told.stderr + told.stdout)
    if version is None:
        return f"{java}: is no Java; {way_out}"
    if version[1] not in _JAVAS:
        return f"{java}: is Java {version[1]}, and Spark needs {' or '.join(_JAVAS)}; {way_out}"
    return None
