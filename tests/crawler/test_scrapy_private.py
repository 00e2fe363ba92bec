"""Private parts of Scrapy's downloader are what they were: whoever runs this with another Scrapy sees which are not.

That headers without an end are bounded is tested with those of the crawler's runtime.
"""

from __future__ import annotations

import pytest
import scrapy
from scrapy.downloadermiddlewares import cookies
from scrapy.downloadermiddlewares.robotstxt import RobotsTxtMiddleware
from scrapy.http import Response
from scrapy.http.cookies import CookieJar as ScrapyCookieJar
from scrapy.robotstxt import ProtegoRobotParser
from scrapy.utils.test import get_crawler

from crawler import scrapy_private as private


def test_cookies_go_by_the_given_suffixes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cookies, "_split_domain", cookies._split_domain)
    asked = []
    private.use_public_suffixes(asked.append)
    assert "_split_domain" in cookies._is_public_domain.__code__.co_names
    assert cookies._split_domain == asked.append


def test_cookies_of_a_jar_are_those_that_it_has() -> None:
    jar = ScrapyCookieJar()
    response = Response("http://a.example/", headers={"Set-Cookie": "name=value; Path=/"})
    jar.extract_cookies(response, scrapy.Request("http://a.example/"))
    [paths] = private.cookies_of(jar).values()
    assert paths["/"]["name"].value == "value"


def test_parser_of_robots_is_that_of_the_settings() -> None:
    assert (
        private.robots_parser_of(RobotsTxtMiddleware(get_crawler(settings_dict={"ROBOTSTXT_OBEY": True})))
        is ProtegoRobotParser
    )
