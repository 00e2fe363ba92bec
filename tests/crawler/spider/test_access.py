"""Sites behind a certificate that nobody vouches for, a proxy or a login: each crawled from a real server."""

from __future__ import annotations

import os
import signal
import ssl
from base64 import b64encode
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path
from subprocess import Popen

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from tests.crawling import Crawl, crawl, crawl_command, finish, start
from tests.forking import ForkedProcess
from tests.localsite import Asked, LocalSite, Page, Reply, article, redirect
from tests.waiting import wait_until

pytestmark = pytest.mark.slow

DAY = timedelta(days=1)


class Certificates:
    """Certificates of an address, each signed by its own key."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def make(self, name: str, ends: timedelta, address: str = "127.0.0.1") -> ssl.SSLContext:
        """Return what a server shows."""
        key = ec.generate_private_key(ec.SECP256R1())
        own = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        now = datetime.now(UTC)
        unsigned = x509.CertificateBuilder(own, own, key.public_key(), 1, now - 2 * DAY, now + ends)
        names = x509.SubjectAlternativeName([x509.IPAddress(ip_address(address))])
        certificate = unsigned.add_extension(names, critical=False).sign(key, hashes.SHA256())
        form = (serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
        self.path(name).write_bytes(
            key.private_bytes(serialization.Encoding.PEM, *form) + certificate.public_bytes(serialization.Encoding.PEM)
        )
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.path(name))
        return context

    def path(self, name: str) -> Path:
        return self._folder / f"{name}.pem"


@pytest.fixture
def certificates(tmp_path: Path) -> Certificates:
    return Certificates(tmp_path)


# Certificates

PAGES = {"/": article("front", ["/a"]), "/a": article("a")}
STRICT = {"DOWNLOAD_VERIFY_CERTIFICATES": True}


def test_pages_behind_an_expired_certificate_are_stored(certificates: Certificates, tmp_path: Path) -> None:
    with LocalSite(PAGES, tls=certificates.make("expired", -DAY)) as site:
        result = crawl(tmp_path / "crawl.db", url=f"{site.url}/")
    assert result.paths(site.url) == ["/", "/a"]


def test_a_certificate_of_another_address_is_told_in_one_line(certificates: Certificates, tmp_path: Path) -> None:
    with LocalSite(PAGES, tls=certificates.make("other", DAY, "127.0.0.2")) as site:
        result = crawl(tmp_path / "crawl.db", url=f"{site.url}/")
    assert result.paths(site.url) == ["/", "/a"]
    assert result.stderr.count("Remote certificate is not valid") == 1


def test_certificates_are_checked_where_that_is_asked_for(
    certificates: Certificates, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    good = certificates.make("good", DAY)
    monkeypatch.setenv("SSL_CERT_FILE", str(certificates.path("good")))
    with (
        LocalSite(PAGES, tls=good) as site,
        LocalSite(PAGES, tls=certificates.make("expired", -DAY)) as expired,
        LocalSite() as redirecting,
    ):
        redirecting.pages["/"] = redirect(f"{expired.url}/old")
        # The name localhost is in no certificate.
        starts = [f"{site.url}/", f"{redirecting.url}/", f"{expired.url}/", f"{site.other_url}/"]
        result = crawl(tmp_path / "crawl.db", STRICT, url=",".join(starts))
    assert sorted(result.pages) == [f"{site.url}/", f"{site.url}/a"]
    assert result.skipped == {"bad_certificate": 3}
    assert result.summary["skipped"].split("   ")[-1] == "3 bad certificate"
    assert "crawler/put_back" not in result.stats
    assert not result.errors


# Proxies


def test_a_proxy_on_this_machine_that_asks_for_a_password(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with LocalSite({f"http://shop.example{path}": page for path, page in PAGES.items()}) as proxy:
        for name in ("no_proxy", "NO_PROXY", "HTTP_PROXY", "HTTPS_PROXY"):
            monkeypatch.delenv(name, raising=False)
        for name in ("http", "https"):
            monkeypatch.setenv(f"{name}_proxy", f"http://{name}:p%40ss@127.0.0.1:{proxy.port}")
        result = crawl(tmp_path / "crawl.db", url="http://shop.example/,https://bank.example/")
        asked = {(each.path, each.headers.get("Proxy-Authorization")) for each in proxy.asked}
    kept = ["http://shop.example/", "http://shop.example/a"]
    assert sorted(result.pages) == kept
    by_name = {name: f"Basic {b64encode(f'{name}:p@ss'.encode()).decode()}" for name in ("http", "https")}
    # The site of https cannot be reached through this one, which makes no tunnel.
    assert asked == {("bank.example:443", by_name["https"])} | {
        (address, by_name["http"]) for address in (*kept, "http://shop.example/robots.txt")
    }


# Logins

FORM = """
from scrapy import FormRequest, Request
from crawler.spider.site import SiteSpider

class MembersSpider(SiteSpider):
    name = "members"

    async def log_in(self):
        download = self.crawler.engine.download_async
        form = await download(Request("{url}/login"))
        token = form.css("[name=token]::attr(value)").get()
        answer = await download(FormRequest("{url}/login", formdata={{"password": "{password}", "token": token}}))
        if "welcome" not in answer.text:
            raise ValueError("no such member")
"""
FROM_START = """
from scrapy import FormRequest
from crawler.spider.site import SiteSpider

class MembersSpider(SiteSpider):
    name = "members"

    async def start(self):
        yield FormRequest("{url}/login", formdata={{"password": "sesame"}})
"""
BY_TOKEN = """
from crawler.spider.site import SiteSpider

class MembersSpider(SiteSpider):
    name = "members"

    def make_request(self, kind, url, depth=0):
        request = super().make_request(kind, url, depth)
        if url.startswith("{url}/"):
            request.headers["Authorization"] = "Bearer of good news"
        return request
"""


def members_only(number: int) -> LocalSite:
    """Serves pages to who has sent the form of its page for logins, and that page to all others."""
    form = '<form method="post"><input name="password"><input name="token" value="t7"></form>'
    pages = {f"/{at}": article(f"members {at}") for at in range(number)}
    pages["/"] = article("welcome", pages)

    def answer(asked: Asked) -> Page:
        if asked.path == "/login":
            if asked.body == b"password=sesame&token=t7":
                return Reply(status=302, headers={"Location": "/", "Set-Cookie": "session=open"})
            return article("login", foot=form)
        return pages[asked.path] if asked.headers.get("Cookie") == "session=open" else redirect("/login")

    return LocalSite({"/login": answer} | dict.fromkeys(pages, answer))


class Members:
    """Runs Scrapy with a spider of the project's, in a file of its own."""

    def __init__(self, folder: Path) -> None:
        self._spider = folder / "members.py"
        self.file = folder / "crawl.db"
        self.database = f"sqlite:///{self.file}"

    def start(self, source: str, **arguments: object) -> Popen[str] | ForkedProcess:
        self._spider.write_text(source, encoding="utf-8")
        words = crawl_command(arguments, {"SPIDER_MODULES": "members", "DEDUP_DATABASE_URL": self.database})
        words[words.index("site")] = "members"
        return start(words)

    def run(self, source: str, **arguments: object) -> Crawl:
        return finish(self.start(source, **arguments), database_url=self.database)


@pytest.fixture
def members(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Members:
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    return Members(tmp_path)


@pytest.mark.thorough
def test_spider_that_logs_in_by_a_form_does_so_again_when_a_killed_crawl_goes_on(members: Members) -> None:
    with members_only(30) as site:
        source = FORM.format(url=site.url, password="sesame")
        site.answers = 12
        process = members.start(source, url=f"{site.url}/")
        wait_until(lambda: len(site.asked) > 12 or process.poll() is not None)
        os.killpg(process.pid, signal.SIGKILL)
        site.answers = None
        finish(process, accidents=True)
        result = members.run(source)
        # Whoever comes without a session is sent there.
        assert site.hits["/login"] == 2 * 2
    assert len(result.pages) == 31
    assert not result.errors


@pytest.mark.parametrize(
    ("source", "told", "asked"),
    [
        (FORM, "the login failed: ValueError: no such member", {"/robots.txt", "/login"}),
        (FROM_START, "POST {url}/login was not made by make_request", set()),
    ],
)
def test_login_that_cannot_be_ends_the_crawl_in_one_line_before_any_page(
    source: str, told: str, asked: set[str], members: Members
) -> None:
    with members_only(3) as site:
        result = members.run(source.format(url=site.url, password="guess"), url=f"{site.url}/")
        assert set(site.hits) == asked
    assert result.status == 1
    assert told.format(url=site.url) in result.errors[0]


def with_login(url: str) -> str:
    return url.replace("//", "//me:op%3Asesame@")


@pytest.mark.parametrize("way", ["settings", "spider", "url", "headers"])
def test_what_is_secret_is_told_to_no_other_host(way: str, members: Members, tmp_path: Path) -> None:
    with LocalSite() as site:
        site.pages |= {"/": article("front", ["/away"]), "/away": redirect(with_login(f"{site.other_url}/here"))}
        site.pages["/here"] = article("here", [with_login(f"{site.url}/back"), "/there"])
        site.pages |= {"/back": article("back"), "/there": article("there")}
        hosts = {"url": f"{site.url}/", "allowed_domains": "127.0.0.1,localhost"}
        if way == "settings":
            basic = {"HTTPAUTH_USER": "me", "HTTPAUTH_PASS": "sesame", "HTTPAUTH_DOMAIN": f"127.0.0.1:{site.port}"}
            result = crawl(members.database, basic, **hosts)
        elif way == "url":
            result = crawl(members.database, **{**hosts, "url": with_login(f"{site.url}/")})
            sent = {asked.headers.get("Authorization") for asked in site.asked}
            assert sent == {None, f"Basic {b64encode(b'me:op:sesame').decode()}"}
        elif way == "headers":
            (tmp_path / "headers.txt").write_text("authorization: Bearer sesame\n")
            result = crawl(members.database, headers=tmp_path / "headers.txt", **hosts)
        else:
            result = members.run(BY_TOKEN.format(url=site.url), **hosts)
        assert "sesame" not in result.stdout + result.stderr
        assert b"sesame" not in members.file.read_bytes()
        told = {(asked.path, asked.host.split(":")[0], "Authorization" in asked.headers) for asked in site.asked}
    assert {each for each in told if each[0] != "/robots.txt"} == {
        ("/", "127.0.0.1", True),
        ("/away", "127.0.0.1", True),
        ("/back", "127.0.0.1", True),
        ("/here", "localhost", False),
        ("/there", "localhost", False),
    }
