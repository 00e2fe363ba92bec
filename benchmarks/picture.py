"""The picture of the report in the README: the bundled demo site is crawled, and its report is opened in Chromium."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.browser import open_chromium

ROOT = Path(__file__).parent.parent


def run(*, output: Path = ROOT / "docs" / "report.png") -> None:
    """Make the picture.

    Args:
        output: where it is written.

    Raises:
        ValueError: there is no Chromium.
    """
    with tempfile.TemporaryDirectory(prefix="picture-") as folder:
        page = Path(folder) / "report.html"
        settings = {
            "DEDUP_DATABASE_URL": f"sqlite:///{folder}/crawl.db",
            "DEDUP_REPORT": str(page),
            "DEDUP_RUN": "demo",
        }
        command = [sys.executable, "-m", "crawler.demo", "crawl", "-L", "WARNING"]
        command += [part for name, value in settings.items() for part in ("-s", f"{name}={value}")]
        subprocess.run(command, check=True, cwd=ROOT, stdout=subprocess.DEVNULL)
        with open_chromium() as browser:
            tab = browser.new_page(viewport={"width": 1200, "height": 860}, color_scheme="light")
            tab.goto(page.as_uri())
            tab.wait_for_selector("html[data-ready]")
            tab.click("#tab-dropped")
            tab.screenshot(path=output)
    print(f"written: {output}")
