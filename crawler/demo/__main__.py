"""Serve the demo site, or crawl it.

python -m crawler.demo serve [--port N]
python -m crawler.demo crawl [ARGUMENT...]
python -m crawler.demo continue [ARGUMENT...]
"""

from __future__ import annotations

import argparse
import signal
import subprocess
import sys
from threading import Event

from crawler.demo.site import DemoServer, server_at_its_usual_address


def main() -> int:
    """Run the command named on the command line and return the exit status."""
    description = "Serve the demo site, or crawl it."
    parser = argparse.ArgumentParser(prog="python -m crawler.demo", description=description)
    commands = parser.add_subparsers(dest="command", required=True)
    serve_parser = commands.add_parser("serve", help="serve the site until Ctrl-C")
    serve_parser.add_argument("--port", type=int, default=0, help="default: a free one")
    commands.add_parser("crawl", help="crawl the site; arguments are passed on to scrapy")
    commands.add_parser("continue", help="go on with the last crawl, which may be that of the site")
    options, further = parser.parse_known_args()
    if options.command != "serve":
        return crawl(further, is_begun=options.command == "continue")
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


def crawl(scrapy_arguments: list[str], *, is_begun: bool) -> int:
    """Crawl the site with scrapy, or go on with the last crawl, and return scrapy's exit status."""
    # Ctrl-C reaches the crawl as well, which then finishes the pages under way and still
    # needs the site. A handler, unlike SIG_IGN, is not handed down to the child.
    signal.signal(signal.SIGINT, lambda signum, frame: None)
    with server_at_its_usual_address() as server:
        arguments = [] if is_begun else ["-a", f"url={server.url}/", "-s", "SCRAPY_COMMAND_LINE=make crawl"]
        command = [sys.executable, "-m", "scrapy", "crawl", "site", *arguments, *scrapy_arguments]
        return subprocess.run(command, check=False).returncode  # noqa: S603 -- the user's own arguments


if __name__ == "__main__":
    sys.exit(main())
