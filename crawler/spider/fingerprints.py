"""The fingerprints of requests."""

from __future__ import annotations

from hashlib import blake2b

from scrapy import Request
from scrapy.utils.request import RequestFingerprinter

from crawler.page import AGAIN, KIND


class KindFingerprinter(RequestFingerprinter):
    """Tells a page that is fetched once more from the same page before, so that it is not passed over as known."""

    def fingerprint(self, request: Request) -> bytes:
        fingerprint = super().fingerprint(request)
        kind = request.meta.get(KIND)
        return (
            blake2b(fingerprint + kind.encode(), digest_size=len(fingerprint)).digest()
            if kind in AGAIN
            else fingerprint
        )
