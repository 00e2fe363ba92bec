"""What the server sends back for one URL."""

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Reply:
    """Status, headers and body of an HTTP response."""

    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""


def html_reply(
    html: str,
    *,
    status: int = 200,
    encoding: str = "utf-8",
    content_type: str = "text/html; charset=utf-8",
) -> Reply:
    """Return an HTML page as a reply."""
    return Reply(status, {"Content-Type": content_type}, html.encode(encoding))
