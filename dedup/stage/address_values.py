"""What an address in a field of an item says of the item: which medium it has, or where it leads at another site."""

from __future__ import annotations

import re
from urllib.parse import unquote

from dedup.rules.other_fields import words_of
from dedup.rules.scope import domain_of
from dedup.signature.signature import digest

_LONGEST_ADDRESS = 500

DIGEST_DIGITS = 16
"""So many hexadecimal digits stand for a value that is not compared letter by letter."""


def names_in(text: str) -> frozenset[str]:
    """Return the names that stand in a text, white space between them."""
    return frozenset(text.split())


def short_digest(value: bytes | str) -> str:
    """Return `DIGEST_DIGITS` digits that are equal for equal values."""
    return digest(value if isinstance(value, bytes) else value.encode("utf-8", "replace")).hex()[:DIGEST_DIGITS]


# What a thing consists of besides its text: other addresses of the same picture are told by their ends.
_MEDIA = names_in(
    """
    artwork attachment attachments audio cover document download embed enclosure episode file files iframe image images
    img media mp3 pdf photo player photos picture pictures pic pics podcast poster stream thumb thumbnail thumbnails
    track video videos bild bilder foto fotos imagen imágenes imagem vídeo vidéo audios 图片 图像 视频 音频 附件
    画像 動画
    """
)
_MEDIA_FILE = re.compile(
    r"\.(?:aac|avi|avif|bmp|csv|docx?|epub|flac|gif|ics|jpe?g|m3u8|m4[abv]|mkv|mobi|mov|mp[34g]|og[gv]|opus|pdf|png|pptx?"
    r"|rtf|svg|tiff?|wav|web[mp]|wmv|xlsx?|zip)\Z",
    re.IGNORECASE,
)
_BEFORE_PATH = re.compile(r"(?:[a-z][a-z0-9+.-]*:)?//[^/?#]*", re.IGNORECASE)
# How a picture says that it is the same in another size: name-300x200.jpg, name@2x.png.
_OF_ANOTHER_SIZE = re.compile(r"(?:[-_@](?:[0-9]{2,4}x[0-9]{2,4}|[0-9]x|scaled|thumb))+(?=\.\w+\Z)", re.IGNORECASE)
# In the query of an address: what says where who asks for it comes from; and, if it is so long, who that is and when.
# Of a file also what says in which size or form, and of a picture in which edition; elsewhere a q is a question, and a
# version another thing.
_OF_A_VISITOR = names_in(
    """
    _ga _hsenc dclid fbclid gad_source gclid igshid irclickid listener listeners mc_cid mc_eid msclkid spm
    srsltid ttclid twclid yclid
    """
)
_OF_A_VISIT = names_in(
    """
    awsaccesskeyid cb expire expires googleaccessid key-pair-id policy sid sig signature timestamp
    token ts _
    """
)
_VISIT = 8
_OF_A_FILE = names_in("auto crop dest-id dpr fit fm format h height quality resize size w width")
_OF_A_PICTURE = names_in("itok updated v ver version")
_PICTURE_FILE = re.compile(r"\.(?:avif|bmp|gif|jpe?g|png|svg|tiff?|webp)\Z", re.IGNORECASE)
_OF_ANY_FILE = re.compile(r"q=[0-9]{1,3}|download(?:=(?:1|true|yes)?)?", re.IGNORECASE)
_ADDRESS = re.compile(
    r"(?:[a-z][a-z0-9+.-]*:)?//\S+\s*\Z|data:[a-z]+/\S|www\.\S+\s*\Z|/(?=\S*[a-z])[^\s/]+/\S+\s*\Z", re.IGNORECASE
)


def is_address(text: str) -> bool:
    """Return whether a value is an address."""
    return _ADDRESS.match(text) is not None


def medium_of(name: str, text: str) -> str:
    """Return what tells a medium from others by its address; empty: it is none, or no address."""
    if not _ADDRESS.match(text):
        return ""
    if text[:5].lower() == "data:" or len(text) > _LONGEST_ADDRESS:
        return short_digest(text)
    path, _, query = _BEFORE_PATH.sub("", text.strip(), count=1).partition("#")[0].partition("?")
    parts = _said_by(query)
    is_file = _MEDIA_FILE.search(path) is not None
    if not is_file and _MEDIA.isdisjoint(words_of(name)):
        return ""
    # Services that change the size of a picture are asked for its file.
    if is_file or any(_MEDIA_FILE.search(part) for part in parts):
        path = _OF_ANOTHER_SIZE.sub("", path)
        is_picture = _PICTURE_FILE.search(path) is not None
        parts = [part for part in parts if not _is_of_file(part, is_picture=is_picture)]
    return _with_query(path.strip("/"), parts)


def _said_by(query: str) -> list[str]:
    """Return the parts of an address's query that say where it leads."""
    return [part for part in query.split("&") if part and not _is_of_visit(part)]


def _is_of_visit(part: str) -> bool:
    name, _, value = part.lower().partition("=")
    if name in _OF_A_VISITOR or name.startswith(("utm_", "x-amz-", "x-goog-")):
        return True
    return len(value) >= _VISIT and (name in _OF_A_VISIT or "session" in name or "sessid" in name)


def _is_of_file(part: str, *, is_picture: bool) -> bool:
    name = part.partition("=")[0].lower()
    is_edition = is_picture and name in _OF_A_PICTURE
    return name in _OF_A_FILE or is_edition or _OF_ANY_FILE.fullmatch(part) is not None


def _with_query(path: str, parts: list[str]) -> str:
    return f"{path}?{'&'.join(parts)}" if parts else path


def elsewhere(text: str, site: str) -> str:
    """Return host and path of an address at another site than the item's, whose form does not depend on its page's."""
    address = f"http://{text}" if text[:4].lower() == "www." else text
    if not (site and address[:4].lower() == "http") or domain_of(address) in ("", site):
        return ""
    path, _, query = address.strip().partition("#")[0].partition("//")[2].partition("?")
    parts = [part for part in _said_by(query) if not _is_shared(unquote(part.partition("=")[2]), site)]
    return _with_query(path.rstrip("/"), parts).casefold()


def _is_shared(value: str, site: str) -> bool:
    """Whether a value names a page of a site, as it does to share it; files are shown elsewhere."""
    return _MEDIA_FILE.search(value) is None and domain_of(value) == site
