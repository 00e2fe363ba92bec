"""PDFs for the tests, as small as they can be."""

from __future__ import annotations

import base64
from collections.abc import Sequence

ENCRYPTED = base64.b64decode(
    "JVBERi0xLjQKJb/3ov4KMSAwIG9iago8PCAvUGFnZXMgMyAwIFIgL1R5cGUgL0NhdGFsb2cgPj4KZW5kb2JqCjIgMCBvYmoKPDwgPj4KZW5kb2"
    "JqCjMgMCBvYmoKPDwgL0NvdW50IDEgL0tpZHMgWyA0IDAgUiBdIC9UeXBlIC9QYWdlcyA+PgplbmRvYmoKNCAwIG9iago8PCAvQ29udGVudHMg"
    "NSAwIFIgL01lZGlhQm94IFsgMCAwIDU5NSA4NDIgXSAvUGFyZW50IDMgMCBSIC9SZXNvdXJjZXMgPDwgL0ZvbnQgPDwgL0YxIDYgMCBSID4+ID"
    "4+IC9UeXBlIC9QYWdlID4+CmVuZG9iago1IDAgb2JqCjw8IC9MZW5ndGggNTUgL0ZpbHRlciAvRmxhdGVEZWNvZGUgPj4Kc3RyZWFtCkTUofdI"
    "RWSp1YKxXHH7cx+Fr3SxHwuZCRQheT3Wy/QdMrnvqrjSud+yn1KHWFQJuWXwjBRwdtsKZW5kc3RyZWFtCmVuZG9iago2IDAgb2JqCjw8IC9CYX"
    "NlRm9udCAvSGVsdmV0aWNhIC9TdWJ0eXBlIC9UeXBlMSAvVHlwZSAvRm9udCA+PgplbmRvYmoKNyAwIG9iago8PCAvRmlsdGVyIC9TdGFuZGFy"
    "ZCAvTGVuZ3RoIDEyOCAvTyA8NTUxMjc0MThjOWViYzIwNDUzMjU3YjM3NWEwZWY2OWUzMTRhNjczZjYyMjhkNWM0ZGQzMTY3NDllMjZkZTcyYz"
    "4gL1AgLTEwMjggL1IgMyAvVSA8N2FkNThlZmNhZTI1MzFhYmYxZWFkMmVlODEyOWZiNDYwMDIxNDQ2OTkwYjllNDExNDA3MWE0ZDkxMDQ5ODRj"
    "MT4gL1YgMiA+PgplbmRvYmoKeHJlZgowIDgKMDAwMDAwMDAwMCA2NTUzNSBmIAowMDAwMDAwMDE1IDAwMDAwIG4gCjAwMDAwMDAwNjQgMDAwMD"
    "AgbiAKMDAwMDAwMDA4NSAwMDAwMCBuIAowMDAwMDAwMTQ0IDAwMDAwIG4gCjAwMDAwMDAyNzIgMDAwMDAgbiAKMDAwMDAwMDM5OCAwMDAwMCBu"
    "IAowMDAwMDAwNDY4IDAwMDAwIG4gCnRyYWlsZXIgPDwgL0luZm8gMiAwIFIgL1Jvb3QgMSAwIFIgL1NpemUgOCAvSUQgWzwzMTQxNTkyNjUzNT"
    "g5NzkzMjM4NDYyNjQzMzgzMjc5NT48MzE0MTU5MjY1MzU4OTc5MzIzODQ2MjY0MzM4MzI3OTU+XSAvRW5jcnlwdCA3IDAgUiA+PgpzdGFydHhy"
    "ZWYKNjc4CiUlRU9GCg=="
)
"""A page that takes a password to be read."""


def pdf(*pages: Sequence[str], title: str = "", filled: str = "", is_drawn: bool = False) -> bytes:
    """Return a PDF of pages, each of which is a list of lines in Latin letters.

    Args:
        *pages: their lines.
        title: its title.
        filled: what a field of a form says, which stands on each page.
        is_drawn: whether there is a drawing on each page.
    """
    form = b" /AcroForm << /Fields [6 0 R] >>" if filled else b""
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R%s >>" % form,
        b"",
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    objects.append(f"<< /Title ({title}) >>".encode("latin-1") if title else b"<< >>")
    looks = f"BT /F1 10 Tf 2 5 Td ({_escaped(filled)}) Tj ET".encode("latin-1")
    objects.append(
        b"<< /Type /XObject /Subtype /Form /BBox [0 0 300 20] /Resources << /Font << /F1 3 0 R >> >> /Length %d >>\n"
        b"stream\n%s\nendstream" % (len(looks), looks)
    )
    field = f"<< /Type /Annot /Subtype /Widget /FT /Tx /F 4 /T (f) /V ({_escaped(filled)}) /Rect [40 40 340 60]"
    objects.append(field.encode("latin-1") + b" /AP << /N 5 0 R >> >>")
    places = []
    for lines in pages:
        shown = "".join(f"({_escaped(line)}) Tj T*\n" for line in lines)
        drawing = "0 0 m 500 500 l S\n" if is_drawn else ""
        content = f"{drawing}BT /F1 10 Tf 12 TL 40 800 Td\n{shown}ET".encode("latin-1")
        objects.append(b"<< /Length %d >>\nstream\n%s\nendstream" % (len(content), content))
        places.append(len(objects) + 1)
        objects.append(
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents %d 0 R "
            b"/Resources << /Font << /F1 3 0 R >> >>%s >>" % (len(objects), b" /Annots [6 0 R]" if filled else b"")
        )
    kids = " ".join(f"{place} 0 R" for place in places)
    objects[1] = f"<< /Type /Pages /Count {len(places)} /Kids [{kids}] >>".encode()
    written, offsets = b"%PDF-1.4\n", []
    for number, each in enumerate(objects, 1):
        offsets.append(len(written))
        written += b"%d 0 obj\n%s\nendobj\n" % (number, each)
    table = b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    trailer = b"trailer\n<< /Size %d /Root 1 0 R /Info 4 0 R >>\nstartxref\n%d\n%%%%EOF\n"
    size = len(objects) + 1
    return written + b"xref\n0 %d\n0000000000 65535 f \n%s" % (size, table) + trailer % (size, len(written))


def _escaped(line: str) -> str:
    return line.replace("\\", "\\\\").replace("(", "\\(").replace(")", "\\)")


def in_lines(text: str, width: int = 80) -> list[str]:
    """Return a text as it is set in lines of at most so many characters, long words divided."""
    lines = [""]
    for word in text.split():
        room = width - len(lines[-1]) - 1
        if len(word) > room > 5 and len(word) > 7:
            lines[-1] += f" {word[:4]}-"
            lines.append(word[4:])
        elif len(word) > room:
            lines.append(word)
        else:
            lines[-1] = f"{lines[-1]} {word}".strip()
    return lines
