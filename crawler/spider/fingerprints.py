"""The fingerprints of requests."""

from __future__ import annotations

from hashlib import blake2b

from scrapy import Request
from scrapy.utils.request import RequestFingerprinter

from crawler.frontier.returning import count_returns
from crawler.page import AGAIN, KIND


class KindFingerprinter(RequestFingerprinter):
    """Tells a page that is fetched once more from the same page before, so that it is not passed over as known.

    So it is where a page is left undecided, and where redirects lead back to an address.
    """

    def fingerprint(self, request: Request) -> bytes:
        fingerprint = super().fingerprint(request)
        kind = request.meta.get(KIND)
        returns = count_returns(request)
        told = (kind if kind in AGAIN else "") + (f"returned {returns}" if returns else "")
        return blake2b(fingerprint + told.encode(), digest_size=len(fingerprint)).digest() if told else fingerprint
