"""Downloader middleware in the place of Scrapy's for compressed bodies."""

from __future__ import annotations

import sys

from scrapy import Request, Spider
from scrapy.downloadermiddlewares.httpcompression import HttpCompressionMiddleware
from scrapy.http import HtmlResponse, Response
from scrapy.responsetypes import responsetypes

from crawler.reasons import Refused
from crawler.request_meta import CUT_OFF, ROBOTS_TXT
from crawler.warc.replaying import FLAG
from dedup.readers.responses import BadBodyError, TooLargeError, decode_body, is_html, is_success, media_type


class CompressionMiddleware(HttpCompressionMiddleware):
    """Downloader middleware: decodes bodies and says what is a page, by the rules that hold for archives as well.

    A response whose body has no end gets the flag `CUT_OFF`.
    """

    def process_response(
        self, request: Request, response: Response, spider: Spider | None = None
    ) -> Request | Response:
        codings = _values(response, "Content-Encoding")
        if FLAG in response.flags or (not codings and isinstance(response, HtmlResponse)):
            return response
        try:
            most = request.meta.get(ROBOTS_TXT)
            data, is_whole = decode_body(
                response.body, codings, most or self._max_size or sys.maxsize, cuts=most is not None
            )
        except TooLargeError as error:
            raise Refused("too_large", f"DOWNLOAD_MAXSIZE exceeded: {error}") from error
        except BadBodyError as error:
            if is_success(response.status):
                raise Refused("damaged_body", str(error)) from error
            return response
        headers = response.headers.copy()
        headers.pop("Content-Encoding", None)
        types, disposition = [media_type(_values(response, "Content-Type"))], _values(response, "Content-Disposition")
        if is_html(data, types, response.url, "".join(disposition)):
            kind: type[Response] = HtmlResponse
        else:
            kind = responsetypes.from_args(headers, response.url, body=data)
        flags = response.flags if is_whole else [*response.flags, CUT_OFF]
        # The charset is that of another body.
        attributes = {name: getattr(response, name) for name in Response.attributes}
        return kind(**{**attributes, "headers": headers, "body": data, "flags": flags, "request": response.request})


def _values(response: Response, name: str) -> list[str]:
    return [value.decode("latin-1") for value in response.headers.getlist(name)]
