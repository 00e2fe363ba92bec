"""Files of headers and cookies that are sent to the site that a crawl starts at, and to no other."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from http.cookiejar import Cookie, DefaultCookiePolicy
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import Request

from scrapy.http.cookies import CookieJar

from dedup.errors import SettingsError

_HEADER = re.compile(r"([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*(\S.*?)[ \t]*")
_CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f-\x9f]")
_TIME = re.compile(r"(?:-?[0-9]{1,15}(?:\.[0-9]+)?)?", re.ASCII)
_COMMENT = re.compile("#")
_HTTP_ONLY = "#HttpOnly_"
_COMMENT_ON_COOKIES = re.compile(f"#(?!{_HTTP_ONLY[1:]})")
_FLAGS = ("TRUE", "FALSE")

# What a connection or the crawl needs as it makes it: of another coding or a part of a page no text can be read.
_OWN_HEADERS = frozenset(
    (
        *("accept-encoding", "connection", "content-length", "expect", "host", "if-modified-since", "if-none-match"),
        *("keep-alive", "range", "referer", "te", "trailer", "transfer-encoding", "upgrade"),
    )
)
_ELSEWHERE = {
    "cookie": "cookies go into a file of their own: -a cookies=FILE",
    "user-agent": "it is a setting, by which robots.txt is read, too: -s USER_AGENT=NAME",
}


def read_headers(name: str) -> tuple[tuple[str, str], ...]:
    """Return the headers of a file, which has one `Name: value` a line; none of "".

    Raises:
        SettingsError: the file cannot be read, or has no header, or a line that is none or may not be sent.
    """
    if not name:
        return ()
    headers = tuple(_to_header(where, line) for where, line in _read_lines("headers", name, _COMMENT))
    if not headers:
        raise SettingsError(f"headers {name!r} has no header; write one per line, like Name: value")
    return headers


def _to_header(where: str, line: str) -> tuple[str, str]:
    found = _HEADER.fullmatch(line)
    if found is None:
        raise SettingsError(f"{where}: this is no header; write it like Name: value")
    header, value = found.groups()
    if header.lower() in _OWN_HEADERS:
        raise SettingsError(f"{where}: the crawl sets {header} by itself; leave it out")
    if header.lower() in _ELSEWHERE:
        raise SettingsError(f"{where}: {header} is no header to give; {_ELSEWHERE[header.lower()]}")
    return header, value


@dataclass(frozen=True)
class GivenCookies:
    """The cookies of a file, as far as they are for hosts that get them.

    Attributes:
        hosts: the hosts that get them, with their subdomains, as far as a cookie's own domain allows.
        cookies: those that are sent.
        others: how many are of other hosts.
        expired: how many of these hosts are not sent any more.
    """

    hosts: tuple[str, ...] = ()
    cookies: tuple[Cookie, ...] = ()
    others: int = 0
    expired: int = 0

    def __str__(self) -> str:
        over = f" ({self.of_https:,} over https alone)" if self.of_https else ""
        return f"{len(self.cookies):,} sent{over}, left out: {self.others:,} of other hosts, {self.expired:,} expired"

    def make_jar(self) -> CookieJar:
        """Return a jar that has them: those that a site sets replace them there."""
        jar = CookieJar(_GivenPolicy(self.hosts) if self.cookies else None)
        for cookie in self.cookies:
            jar.set_cookie(cookie)
        return jar

    @property
    def of_https(self) -> int:
        """How many are sent over https alone."""
        return sum(cookie.secure for cookie in self.cookies)


def read_cookies(name: str, hosts: Sequence[str]) -> GivenCookies:
    """Return the cookies of a file in Netscape's format, as browsers export it; none of "".

    Args:
        name: of the file.
        hosts: those that may get them.

    Raises:
        SettingsError: the file cannot be read, is in another format, or has no cookie that is sent.
    """
    if not name:
        return GivenCookies()
    kept_as = tuple(dict.fromkeys(map(_as_kept, hosts)))
    found = [_to_cookie(where, line) for where, line in _read_lines("cookies", name, _COMMENT_ON_COOKIES)]
    own = [cookie for cookie in found if _is_for_any(cookie, kept_as)]
    sent = tuple(cookie for cookie in own if not cookie.is_expired())
    given = GivenCookies(kept_as, sent, len(found) - len(own), len(own) - len(sent))
    if not sent:
        raise SettingsError(f"cookies {name!r} has none for the start's hosts ({given}); log in there and export anew")
    return given


class _GivenCookie(Cookie):
    """A cookie of a file, not of a server."""


class _GivenPolicy(DefaultCookiePolicy):
    """Sends cookies of a file to some hosts only, and one that is for a host alone to none of its subdomains."""

    def __init__(self, hosts: tuple[str, ...]) -> None:
        super().__init__()
        self._hosts = hosts

    def return_ok(self, cookie: Cookie, request: Request) -> bool:
        host = _as_kept(urlsplit(request.get_full_url()).hostname or "")
        if isinstance(cookie, _GivenCookie):
            is_meant = cookie.domain_specified or cookie.domain == host
            if not is_meant or not any(_is_within(host, own) for own in self._hosts):
                return False
        return super().return_ok(cookie, request)


def _to_cookie(where: str, line: str) -> Cookie:
    fields = line.removeprefix(_HTTP_ONLY).split("\t")
    is_cookie = len(fields) == 7 and fields[0].strip(".") and {fields[1].upper(), fields[3].upper()} <= {*_FLAGS}
    if not is_cookie or not fields[2].startswith("/") or not _TIME.fullmatch(fields[4]):
        raise SettingsError(f"{where}: this is no cookie of a cookies.txt (Netscape); export the file in that format")
    domain, subdomains, path, secure, expires, name, value = fields
    host = _as_kept(domain.removeprefix("."))
    is_domain = (domain.startswith(".") or subdomains.upper() == _FLAGS[0]) and _may_have_subdomains(domain)
    ends = int(float(expires or 0))
    return _GivenCookie(
        version=0,
        name=name or value,
        value=value if name else None,
        port=None,
        port_specified=False,
        domain=f".{host}" if is_domain else host,
        domain_specified=is_domain,
        domain_initial_dot=is_domain,
        path=path,
        path_specified=True,
        secure=secure.upper() == _FLAGS[0],
        expires=ends if ends > 0 else None,
        discard=ends <= 0,
        comment=None,
        comment_url=None,
        rest={},
    )


def _as_kept(host: str) -> str:
    """Return a host as http.cookiejar names it in its jars."""
    return host.lower() if "." in host else f"{host.lower()}.local"


def _may_have_subdomains(domain: str) -> bool:
    last = domain.rpartition(".")[2]
    return "." in domain.strip(".") and not last.isdecimal()


def _is_for_any(cookie: Cookie, hosts: Sequence[str]) -> bool:
    domain = cookie.domain.removeprefix(".")
    return any(_is_within(domain, host) or (cookie.domain_specified and _is_within(host, domain)) for host in hosts)


def _is_within(host: str, domain: str) -> bool:
    return host == domain or host.endswith(f".{domain}")


def _read_lines(argument: str, name: str, comment: re.Pattern[str]) -> Iterator[tuple[str, str]]:
    """Yield the lines of a file that say something, each after where it stands, which may be shown."""
    for number, ended in enumerate(_read(argument, name).split("\n"), 1):
        line = ended.removesuffix("\r")
        if not line.strip() or comment.match(line):
            continue
        where = f"{argument} {name!r}, line {number}"
        if _CONTROL.search(line):
            raise SettingsError(f"{where}: it has a control character; write the line anew")
        yield where, line


def _read(argument: str, name: str) -> str:
    try:
        return Path(name).read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        number = error.object.count(b"\n", 0, error.start) + 1
        raise SettingsError(f"{argument} {name!r}, line {number}: this is not UTF-8; save the file as that") from None
    except (OSError, ValueError) as error:
        # Where the secret itself was put in the place of the file's name, it is not shown.
        shown = "" if re.search("[:=]", name) else f" {name!r}"
        why = getattr(error, "strerror", None) or "no such name"
        raise SettingsError(f"{argument}{shown} cannot be read: {why}; pass the name of a file") from None
