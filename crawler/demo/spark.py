"""The stories of the site and their copies, as files, through `dedup spark`."""

import subprocess
import sys
from http import HTTPStatus
from pathlib import Path

from crawler.demo.reply import Reply
from crawler.demo.site import build_site

FOLDER = "spark-demo"
"""Where files and results are left."""

_ORIGINALS = ("/stories/", "/zh/stories/")
_COPIES = ("/2026/", "/editions/", "/mirror/", "/phone/", "/print/", "/reprints/", "/wire/", "/zh/")
_SHOWN = 12


def spark(arguments: list[str]) -> int:
    """Write the pages, run `dedup spark` on them, and print the first that it drops.

    Args:
        arguments: further ones of the command.

    Returns:
        Its exit status.
    """
    folder = Path(FOLDER)
    # Of two equal texts the one that comes first is kept.
    originals, copies = (
        {
            path: reply.body
            for path, reply in build_site().items()
            if path.startswith(prefixes) and _is_page(path, reply)
        }
        for prefixes in (_ORIGINALS, _COPIES)
    )
    copies = {path: body for path, body in copies.items() if path not in originals}
    inputs = [_write(folder / name, pages) for name, pages in (("stories", originals), ("copies", copies))]
    output = folder / "out"
    command = ["spark", *map(str, inputs), "-o", str(output), "--force", *arguments]
    print("dedup", *command, flush=True)
    done = subprocess.run([sys.executable, "-m", "dedup", *command], check=False)  # noqa: S603 -- the user's own arguments
    if done.returncode == 0 and not {"--json", "-h", "--help"} & set(arguments):
        _print_dropped(output / "dropped")
    return done.returncode


def _is_page(path: str, reply: Reply) -> bool:
    is_html = reply.headers.get("Content-Type", "").startswith("text/html")
    return reply.status == HTTPStatus.OK and is_html and not path.endswith("/")


def _write(folder: Path, pages: dict[str, bytes]) -> Path:
    for path, body in pages.items():
        file = folder / f"{path.removeprefix('/')}.html"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(body)
    return folder


def _print_dropped(folder: Path) -> None:
    from pyarrow.parquet import read_table  # noqa: PLC0415 -- the crawler does without

    rows = sorted(read_table(folder).to_pylist(), key=lambda row: row["id"])
    print(f"\nthe first of {len(rows)} that were dropped:")
    for row in rows[:_SHOWN]:
        print(f"  {row['key']:48} {row['verdict']} of {row['original']}, {row['similarity']:.0%} alike")
