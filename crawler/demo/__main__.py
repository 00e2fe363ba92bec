"""Serve the demo site, crawl it, or give its texts to Spark.

python -m crawler.demo serve [--port N]
python -m crawler.demo crawl [ARGUMENT...]
python -m crawler.demo spark [ARGUMENT...]
"""

from __future__ import annotations

import argparse
import signal
import subprocess
import sys
from http import HTTPStatus
from pathlib import Path
from threading import Event

from crawler.demo.frames import Reply
from crawler.demo.site import DemoServer, build_site, server_at_its_usual_address

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


def main() -> int:
    """Run the command named on the command line and return the exit status."""
    description = "Serve the demo site, crawl it, or give its stories to Spark."
    parser = argparse.ArgumentParser(prog="python -m crawler.demo", description=description)
    commands = parser.add_subparsers(dest="command", required=True)
    serve_parser = commands.add_parser("serve", help="serve the site until Ctrl-C")
    serve_parser.add_argument("--port", type=int, default=0, help="default: a free one")
    commands.add_parser("crawl", help="crawl the site; arguments are passed on to scrapy")
    commands.add_parser("spark", help="find the copies among its stories; arguments are passed on to dedup spark")
    options, further = parser.parse_known_args()
    if options.command == "crawl":
        return crawl(further)
    if options.command == "spark":
        return spark(further)
    if further:
        parser.error(f"unknown arguments: {' '.join(further)}")
    return serve(options.port)


def serve(port: int) -> int:
    """Serve the site until Ctrl-C."""
    with DemoServer(port) as server:
        print(f"The demo site is at {server.url}/ (Ctrl-C stops it)", flush=True)
        try:
            Event().wait()
        except KeyboardInterrupt:
            print()
    return 0


def crawl(scrapy_arguments: list[str]) -> int:
    """Crawl the site with scrapy and return scrapy's exit status."""
    # Ctrl-C reaches the crawl as well, which then finishes the pages under way and still
    # needs the site. A handler, unlike SIG_IGN, is not handed down to the child.
    signal.signal(signal.SIGINT, lambda signum, frame: None)
    with server_at_its_usual_address() as server:
        command = [sys.executable, "-m", "scrapy", "crawl", "site", "-a", f"url={server.url}/"]
        # `scrapy continue` serves the site itself.
        command += ["-s", f"DEMO_PORT={server.port}"]
        finished = subprocess.run([*command, *scrapy_arguments], check=False)  # noqa: S603 -- the user's own arguments
        return finished.returncode


if __name__ == "__main__":
    sys.exit(main())
