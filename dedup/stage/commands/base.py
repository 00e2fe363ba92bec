"""What the commands have in common."""

from __future__ import annotations

from scrapy.commands import ScrapyCommand

from dedup.stage.running import made


class AddonCommand(ScrapyCommand):
    """Base of the commands, which work without a project, too, and tell that Scrapy's command is running."""

    requires_project = False
    requires_crawler_process = False

    def __init__(self) -> None:
        super().__init__()
        made.add(type(self).__module__)
