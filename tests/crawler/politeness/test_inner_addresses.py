"""Nothing is fetched from inner addresses, unless the crawl starts there."""

from __future__ import annotations

from ipaddress import ip_address, ip_network
from pathlib import Path
from typing import Any

import pytest
from scrapy.resolver import HostResolution
from twisted.internet.address import IPv4Address

from crawler.pages.extraction import LinkRules
from crawler.politeness.inner_addresses import AddressRules, GuardedResolver, is_inner
from crawler.settings import CrawlerSettings
from dedup.errors import SettingsError
from tests.crawling import crawl, crawl_site_here
from tests.localsite import LocalSite, Reply, article

INNER = """
127.0.0.1 127.9.9.9 0.0.0.0 10.1.2.3 172.16.0.1 192.168.1.1 169.254.169.254 100.64.0.1 224.0.0.1 255.255.255.255
::1 :: fe80::1 fc00::1 fd00:ec2::254 fec0::1 ff02::1 ::ffff:127.0.0.1 ::ffff:169.254.169.254 ::127.0.0.1
::ffff:0:10.0.0.1 64:ff9b::169.254.169.254 64:ff9b:1::a00:1 2002:7f00:1:: 2002:a9fe:a9fe::1 2001:0:1::1
"""
OUTER = "93.184.215.14 2606:2800:21f::1 ::ffff:8.8.8.8 64:ff9b::8.8.8.8 2002:808:808::1"
ME = ip_address("127.0.0.1")
WEB = ip_address("93.184.215.14")


def test_inner_addresses_are_told_in_every_form_and_those_of_the_web_are_none() -> None:
    assert [text for text in INNER.split() if not is_inner(ip_address(text))] == []
    assert [text for text in OUTER.split() if is_inner(ip_address(text))] == []


def test_only_the_addresses_at_which_a_start_is_first_found_are_allowed() -> None:
    rules = AddressRules(["start.example", "web.example"])
    assert rules.choose("start.example", [ip_address("10.0.0.1")]) == [ip_address("10.0.0.1")]
    assert rules.choose("other.example", [ip_address("::ffff:10.0.0.1")])
    assert not rules.choose("other.example", [ip_address("10.0.0.2")])
    assert "10.0.0.2" in str(rules.refusal("other.example"))
    assert rules.refusal("start.example") is None
    # A name that moves inside later.
    assert rules.choose("web.example", [WEB]) == [WEB]
    assert not rules.choose("web.example", [ME])
    assert rules.choose("web.example", [ME, WEB]) == [WEB]


def test_allowed_networks_take_the_place_of_the_starts() -> None:
    rules = AddressRules(["start.example"], [ip_network("10.0.0.0/8")])
    assert rules.choose("other.example", [ip_address("10.200.0.1")])
    assert rules.choose("other.example", [ip_address("64:ff9b::10.0.0.1")])
    assert not rules.choose("start.example", [ME])
    rules.exempt("proxy.example", 3128)
    assert rules.choose("proxy.example", [ME], 3128) == rules.choose("proxy.example", [ME]) == [ME]
    assert not rules.choose("proxy.example", [ME], 80)


def test_networks_are_read() -> None:
    def read(value: object) -> Any:
        return CrawlerSettings.read({"CRAWLER_ALLOWED_NETWORKS": value}.get).allowed_networks

    assert read(None) is None
    assert read("") == read([]) == ()
    assert read("10.0.0.0/8, ::1") == (ip_network("10.0.0.0/8"), ip_network("::1"))
    for wrong in ("10.0.0.0/40", "home", 7):
        with pytest.raises(SettingsError, match=r"^CRAWLER_ALLOWED_NETWORKS = .*: expected networks like 10"):
            read(wrong)


class Found:
    """What a look-up has found."""

    def __init__(self) -> None:
        self.addresses: list[Any] = []
        self.is_complete = False

    def resolutionBegan(self, resolution: Any) -> None:
        assert resolution.name

    def addressResolved(self, address: Any) -> None:
        self.addresses.append((address.host, address.port))

    def resolutionComplete(self) -> None:
        self.is_complete = True


KNOWN = {
    "mixed.example": ("127.0.0.1", "93.184.215.14"),
    "inner.example": ("10.0.0.1",),
    "bücher.example": ("10.0.0.2",),
    "größer.example": ("10.0.0.3",),
}


class Names:
    """A resolver that knows some names."""

    def resolveHostName(self, receiver: Any, name: str, port: int = 0) -> None:
        receiver.resolutionBegan(HostResolution(name))
        for host in KNOWN.get(name, ()):
            receiver.addressResolved(IPv4Address("TCP", host, port))
        receiver.resolutionComplete()


def look_up(name: str, rules: AddressRules | None) -> list[Any]:
    """The addresses that a guarded resolver finds, at port 80."""
    resolver, found = GuardedResolver(Names()), Found()
    if rules is not None:
        resolver.rules.add(rules)
    resolver.resolveHostName(found, name, 80)
    assert found.is_complete
    assert {port for _, port in found.addresses} <= {80}
    return [host for host, _ in found.addresses]


@pytest.mark.parametrize(
    ("name", "hosts"),
    [
        ("mixed.example", ["93.184.215.14"]),
        ("inner.example", []),
        ("nowhere.example", []),
        ("127.0.0.1", []),
        ("::1", []),
        ("93.184.215.14", ["93.184.215.14"]),
    ],
)
def test_what_may_not_be_connected_to_is_not_found(name: str, hosts: list[str]) -> None:
    rules = AddressRules([])
    assert look_up(name, rules) == hosts
    assert (rules.refusal(name) is None) == (bool(hosts) or name == "nowhere.example")


def test_international_names_are_compared_as_requested_and_no_rules_let_all_pass() -> None:
    rules = AddressRules(["xn--bcher-kva.example"])
    assert look_up("bücher.example", rules) == ["10.0.0.2"]
    assert look_up("größer.example", rules) == []
    assert rules.refusal("größer.example".encode("idna").decode()) is not None
    assert look_up("inner.example", None) == ["10.0.0.1"]


@pytest.mark.parametrize(
    ("url", "is_on_site"),
    [
        ("http://example.com:8080/", True),
        ("http://example.com/", False),
        ("http://example.com:22/", False),
        ("http://www.example.com:8080/", True),
        ("https://www.example.com/", True),
        ("https://www.example.com:443/", True),
        ("http://www.example.com:22/", False),
        ("http://example.com:port/", False),
    ],
)
def test_what_answers_at_another_port_is_another_host(url: str, is_on_site: bool) -> None:
    assert LinkRules(("example.com",), (("example.com", 8080),)).is_on_site(url) == is_on_site


def test_inner_hosts_and_other_ports_are_not_fetched_however_a_page_leads_there(tmp_path: Path) -> None:
    secret = article("secret")
    with LocalSite({"/robots.txt": "User-agent: *\n", "/": secret}) as other:
        port = other.url.rpartition(":")[2].strip("/")
        inner = f"http://127.0.0.2:{port}"
        links = [f"{inner}/", other.url + "/linked", "/redirected", "/inside", "http://[::1]/", "/good"]
        pages = {
            "/": article("start", links),
            "/good": article("good"),
            "/redirected": Reply(status=302, headers={"Location": other.url + "/"}),
            "/inside": Reply(status=302, headers={"Location": "http://127.0.0.2/"}),
            "/sitemap.xml": f"<urlset><url><loc>{inner}/listed</loc></url></urlset>",
        }
        with LocalSite(pages) as site:
            starts = {"url": f"{site.url}/", "sitemap": f"{site.url}/sitemap.xml"}
            domains = "127.0.0.1,127.0.0.2"
            result = crawl(tmp_path / "crawl.db", {"CONCURRENT_REQUESTS": 1}, **starts, allowed_domains=domains)
        assert other.hits == {}
    assert result.stats["dedup/new"] == 2
    assert result.skipped == {"redirected_to_other_host": 1, "inner_address": 1}
    assert "CRAWLER_ALLOWED_NETWORKS=127.0.0.2" in result.stderr


def test_robots_txt_does_not_lead_inside(tmp_path: Path) -> None:
    with LocalSite({"/rules": "User-agent: *\nDisallow: /\n"}) as other:
        robots = Reply(status=302, headers={"Location": other.url + "/rules"})
        with LocalSite({"/": article("start"), "/robots.txt": robots}) as site:
            result = crawl_site_here(tmp_path / "crawl.db", url=site.url + "/")
        assert other.hits == {}
    assert result.count("dedup/new") == 1


def test_start_that_is_not_allowed_is_one_clear_line(tmp_path: Path) -> None:
    with LocalSite({"/": article("start")}) as site:
        result = crawl(tmp_path / "crawl.db", {"CRAWLER_ALLOWED_NETWORKS": "10.0.0.0/8"}, url=site.url + "/")
        assert site.hits == {}
    assert result.status == 1
    assert result.errors[-1] == "nothing was fetched: inner address"
