"""One module a format, each with `read(file, number, options, after)`; `FORMATS` names them by the suffixes of files.

`file` is a file that was checked and `number` its number in the corpus; `options` say how documents are
found in it; reading begins behind the position `after`, or at the beginning if that is None. Documents
and rejected things are yielded in the order of the file. A module whose format `is_checked` also has
`check(path, name)`, which raises an `InputError` where a file cannot be of its format or a package is missing.

Whatever a file holds, nothing is raised but what the system raises for a lack of memory or an interrupt:
what is broken is yielded as `Rejected`, and reading goes on behind it where it can.
"""

from typing import NamedTuple


class Format(NamedTuple):
    """A format of input files.

    Attributes:
        module: the module of this package that reads it.
        compressions: the suffixes that may stand behind that of the format.
        is_checked: whether files are checked before any work starts.
    """

    module: str
    compressions: tuple[str, ...] = (".gz", ".zst")
    is_checked: bool = False


_JSONL, _CSV, _PLAIN = Format("jsonl"), Format("csv_tables"), Format("plain")

# Parquet compresses by itself, and a WARC file by zstd needs a dictionary that it does not always bring.
FORMATS = {
    ".jsonl": _JSONL,
    ".ndjson": _JSONL,
    ".json": _JSONL,
    ".csv": _CSV,
    ".tsv": _CSV,
    ".parquet": Format("parquet", compressions=(), is_checked=True),
    ".warc": Format("warc", compressions=(".gz",), is_checked=True),
    ".txt": _PLAIN,
    ".html": _PLAIN,
    ".htm": _PLAIN,
}
KNOWN = "JSONL, CSV, TSV (also .gz, .zst), Parquet, WARC (also .gz), .txt, .html"
