"""A picture of what `scrapy duplicates --watch` draws, of a crawl of the demo site."""

from __future__ import annotations

import io
import re
import subprocess
import sys
import tempfile
from contextlib import closing
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import TerminalTheme

from dedup.console import as_text
from dedup.report.contents import Selection
from dedup.report.queries import open_report
from dedup.report.watching import screen_lines
from dedup.sql.database import open_existing_database, url_of

_COLUMNS, _LINES = 104, 34
_COMMAND = "scrapy duplicates --watch"
# A page that shows it shall load nothing else.
_OTHER_FONTS = re.compile(r"@font-face \{.*?\}", re.DOTALL)
_BLACK, _RED, _GREEN, _YELLOW, _BLUE = (40, 42, 46), (178, 58, 46), (46, 120, 72), (150, 100, 0), (27, 108, 168)
_MAGENTA, _CYAN, _WHITE = (130, 90, 140), (20, 120, 130), (120, 120, 120)
_THEME = TerminalTheme((250, 250, 248), _BLACK, [_BLACK, _RED, _GREEN, _YELLOW, _BLUE, _MAGENTA, _CYAN, _WHITE])


def run(*, output: Path = Path("docs/terminal.svg")) -> None:
    """Crawl the demo site, and draw the report of it as a terminal shows it.

    Args:
        output: the name of the picture.
    """
    console = Console(file=io.StringIO(), record=True, width=_COLUMNS, force_terminal=True, color_system="standard")
    with tempfile.TemporaryDirectory() as folder:
        database_url = url_of(str(Path(folder) / "crawl.db"))
        command = [sys.executable, "-m", "crawler.demo", "crawl", "-L", "WARNING"]
        command += ["-s", f"DEDUP_DATABASE_URL={database_url}", "-s", "DEDUP_RUN=demo"]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        with (
            closing(open_existing_database(database_url)) as database,
            open_report(database, Selection(max_hosts=1, max_clusters=0)) as report,
        ):
            for line in screen_lines(database, report, (_COLUMNS, _LINES), is_going_on=True):
                console.print(as_text(line), soft_wrap=True)
    picture = console.export_svg(title=_COMMAND, theme=_THEME, unique_id="terminal")
    output.write_text(_OTHER_FONTS.sub("", picture).replace("Fira Code", "ui-monospace"), encoding="utf-8")
    print(f"written {output}")
