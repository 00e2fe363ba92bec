"""robots.txt for requests that arrive while it is being fetched."""

from __future__ import annotations

from scrapy import Request
from scrapy.downloadermiddlewares.robotstxt import RobotsTxtMiddleware
from scrapy.robotstxt import RobotParser
from scrapy.utils.httpobj import urlparse_cached


class ObeyedRobotsMiddleware(RobotsTxtMiddleware):
    """Scrapy's middleware, for every request that waits for a robots.txt and not the first alone."""

    async def robot_parser(self, request: Request) -> RobotParser | None:
        """Return the rules of a request's host; None if it has none, or they could not be fetched."""
        await super().robot_parser(request)
        # Waiting requests share a Deferred, and the second to await it gets None, which would allow everything.
        parser = self._parsers[urlparse_cached(request).netloc]
        assert parser is None or isinstance(parser, RobotParser)
        return parser
