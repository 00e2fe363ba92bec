"""Addresses that no crawl of the web should reach: this machine, its network, and what clouds tell their machines."""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Sequence
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Any, Self
from urllib.parse import urlsplit
from weakref import WeakSet

from scrapy import Request, Spider, signals
from scrapy.crawler import Crawler
from scrapy.downloadermiddlewares.offsite import OffsiteMiddleware
from scrapy.exceptions import CannotResolveHostError, IgnoreRequest, NotConfigured
from scrapy.resolver import HostResolution
from scrapy.utils.httpobj import urlparse_cached
from scrapy.utils.reactor import is_reactor_installed
from twisted.internet import address as twisted_address
from twisted.internet.interfaces import IHostnameResolver, IResolutionReceiver
from zope.interface import implementer  # type: ignore[import-untyped]

from crawler.arguments import ascii_host
from crawler.pages.extraction import LinkRules, host_and_port, ports_for_all
from crawler.reasons import INNER_ADDRESS, OTHER_HOST, Refused
from crawler.request_meta import ARCHIVED, KIND, RESOURCE, ROBOTS_TXT
from crawler.settings import CrawlerSettings, Network
from dedup.stage.project import settings_of

logger = logging.getLogger(__name__)

Address = IPv4Address | IPv6Address

# Where the last 32 bits are an address of IPv4: compatible, mapped, translated, NAT64 (RFC 4291, 6052, 7915).
_WITH_IPV4 = tuple(map(IPv6Network, ("::/96", "::ffff:0:0/96", "::ffff:0:0:0/96", "64:ff9b::/96")))
# What Python 3.11 takes for global: NAT64 of one's own (RFC 8215), and what stood for private once (RFC 3879).
_LOCAL = tuple(map(IPv6Network, ("64:ff9b:1::/48", "fec0::/10")))
_LAST_OF_LOOPBACK = 1
_MOST_REFUSED = 10_000


class InnerAddressError(Refused):
    """A host is at an address that must not be asked; the message names it and the way out."""

    def __init__(self, detail: str) -> None:
        super().__init__(INNER_ADDRESS, detail)


def meant(address: Address) -> Address:
    """Return the address of IPv4 that one of IPv6 stands for, where it does; else the address."""
    if isinstance(address, IPv4Address):
        return address
    if any(address in network for network in _WITH_IPV4) and int(address) > _LAST_OF_LOOPBACK:
        return IPv4Address(int(address) & 0xFFFFFFFF)
    return address.sixtofour or address


def is_inner(address: Address) -> bool:
    """Return whether an address is of this machine, of a network of one's own, or of no single machine.

    That is what IANA's registries of special-purpose addresses call not globally reachable, and multicast.
    """
    address = meant(address)
    is_local = isinstance(address, IPv6Address) and any(address in network for network in _LOCAL)
    return is_local or address.is_multicast or not address.is_global


class AddressRules:
    """Which addresses a crawl may connect to.

    Args:
        starts: the hosts that the crawl starts with; where they are at its beginning is allowed.
        allowed: networks that are allowed although they are inner ones; None: where the starts are.
    """

    def __init__(self, starts: Iterable[str], allowed: Sequence[Network] | None = None) -> None:
        self._starts = set(starts) if allowed is None else set()
        self._allowed: list[Network] = list(allowed or ())
        self._exempt: set[tuple[str, int]] = set()
        self._refused: dict[str, Address] = {}

    def exempt(self, host: str, port: int) -> None:
        """Let a host be wherever it is, at one port: a proxy, which the user has named."""
        # Who opens a tunnel looks the proxy up without a port.
        self._exempt |= {(host, port), (host, 0)}

    def choose(self, host: str, addresses: Sequence[Address], port: int = 0) -> list[Address]:
        """Return those of a host's addresses that may be connected to."""
        if (host, port) in self._exempt:
            return list(addresses)
        if addresses and host in self._starts:
            # Once: who answers with another address later wants to be let in.
            self._starts.remove(host)
            self._allowed += [ip_network(meant(address)) for address in addresses]
        chosen = [address for address in addresses if not is_inner(address) or self._is_allowed(address)]
        if addresses and not chosen and len(self._refused) < _MOST_REFUSED:
            self._refused[host] = addresses[0]
        return chosen

    def _is_allowed(self, address: Address) -> bool:
        return any(meant(address) in network for network in self._allowed)

    def refusal(self, host: str) -> InnerAddressError | None:
        """Return why a host could not be asked, if it was for its address."""
        address = self._refused.get(host)
        if address is None:
            return None
        return InnerAddressError(f"{address} is an inner address; CRAWLER_ALLOWED_NETWORKS={address} allows it")


@implementer(IHostnameResolver)
class GuardedResolver:
    """Resolver of names around another one: what no crawl of the process may connect to is not found.

    What is connected to is what was checked, in every form in which an address can be written, for pages, redirects,
    robots.txt and sitemaps alike, and whatever a name server says later. It does not hold for what a proxy looks up.

    Args:
        resolver: the one that looks names up, an `IHostnameResolver` as this one.
    """

    def __init__(self, resolver: Any) -> None:
        self._resolver = resolver
        self.rules: WeakSet[AddressRules] = WeakSet()

    def resolveHostName(  # noqa: N802 -- Twisted's name
        self,
        resolutionReceiver: Any,  # noqa: N803
        hostName: str,  # noqa: N803
        portNumber: int = 0,  # noqa: N803
        *arguments: Any,
        **named: Any,
    ) -> Any:
        # Twisted has names in letters, requests have them in ASCII.
        receiver = _Receiver(resolutionReceiver, ascii_host(hostName), portNumber, self.rules)
        try:
            address = ip_address(hostName)
        except ValueError:
            return self._resolver.resolveHostName(receiver, hostName, portNumber, *arguments, **named)
        resolution = HostResolution(hostName)
        receiver.resolutionBegan(resolution)
        kind = twisted_address.IPv4Address if address.version == 4 else twisted_address.IPv6Address
        receiver.addressResolved(kind("TCP", hostName, portNumber))
        receiver.resolutionComplete()
        return resolution


@implementer(IResolutionReceiver)
class _Receiver:
    """Passes on what may be connected to, once all addresses of a host are known."""

    def __init__(self, receiver: Any, host: str, port: int, rules: Collection[AddressRules]) -> None:
        self._receiver = receiver
        self._host = host
        self._port = port
        self._rules = rules
        self._found: dict[Address, Any] = {}

    def resolutionBegan(self, resolution: Any) -> None:  # noqa: N802
        self._receiver.resolutionBegan(resolution)

    def addressResolved(self, address: Any) -> None:  # noqa: N802
        self._found[ip_address(address.host)] = address

    def resolutionComplete(self) -> None:  # noqa: N802
        found = list(self._found)
        chosen = {address for rules in self._rules for address in rules.choose(self._host, found, self._port)}
        for address, resolved in self._found.items():
            if address in chosen or not self._rules:
                self._receiver.addressResolved(resolved)
        self._receiver.resolutionComplete()


class SiteMiddleware(OffsiteMiddleware):
    """Downloader middleware in the place of Scrapy's: hosts and ports are those that the links may lead to.

    What is allowed elsewhere, as a robots.txt that redirects and what a browser needs, is allowed at the ports of the
    web and the starts; a robots.txt at any port.
    """

    def should_follow(self, request: Request, spider: Any) -> bool:
        """Return whether a request is for the site."""
        return request.meta.get(KIND) == ARCHIVED or bool(spider.rules.is_on_site(request.url))

    def process_request(self, request: Request, spider: Spider | None = None) -> None:
        own: Any = self.crawler.spider
        leads_elsewhere = "redirect_urls" in request.meta or RESOURCE in request.meta
        parts = urlparse_cached(request)
        is_robots_txt = ROBOTS_TXT in request.meta and (parts.path, parts.query) == ("/robots.txt", "")
        if request.meta.get("allow_offsite") and leads_elsewhere and not is_robots_txt:
            _, port = host_and_port(parts.netloc)
            if port not in ports_for_all(own.rules.starts):
                raise Refused(OTHER_HOST, f"at port {port}")
        try:
            super().process_request(request)
        except IgnoreRequest as error:
            raise Refused(OTHER_HOST, str(error)) from None


class InnerAddressMiddleware:
    """Downloader middleware: nothing is fetched from inner addresses, but where the start URLs are.

    `CRAWLER_ALLOWED_NETWORKS` names inner networks that may be asked, and takes the place of the start URLs'; an empty
    list: none. It has to be closer to the downloader than the middlewares for proxies and retries.
    """

    def __init__(self, rules: AddressRules) -> None:
        from twisted.internet import reactor  # noqa: PLC0415 -- to import it installs it

        self._rules = rules
        if not isinstance(reactor.nameResolver, GuardedResolver):
            reactor.installNameResolver(GuardedResolver(reactor.nameResolver))
        reactor.nameResolver.rules.add(rules)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        if not is_reactor_installed():
            crawler.signals.connect(_warn, signals.spider_opened)
            raise NotConfigured
        rules: LinkRules = crawler.spider.rules  # type: ignore[union-attr]
        hosts = [host for host, _ in rules.starts]
        return cls(AddressRules(hosts, settings_of(crawler, CrawlerSettings).allowed_networks))

    def process_request(self, request: Request) -> None:
        if proxy := request.meta.get("proxy"):
            parts = urlsplit(proxy)
            self._rules.exempt(parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80))

    def process_exception(self, request: Request, exception: Exception) -> None:
        if isinstance(exception, CannotResolveHostError):
            refusal = self._rules.refusal(urlparse_cached(request).hostname or "")
            if refusal is not None:
                raise refusal from None


def _warn() -> None:
    logger.warning("without Twisted's reactor inner addresses are not told from others")
