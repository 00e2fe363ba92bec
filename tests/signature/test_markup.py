"""Markup in a text is no part of what is signed; what only looks like it is."""

from __future__ import annotations

import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedup.signature.analysis import sign_texts
from dedup.signature.markup import has_markup, without_markup
from dedup.signature.schemes import DEFAULT
from dedup.signature.signature import Texts
from dedup.signature.signing import make_signature, words_of
from tests.crawling import ROOT
from tests.waiting import HANG

PIECES = st.sampled_from(["<p>", "</p>", "<br/>", "<b", "&amp;", "&lt;", "&#x3c;", "amp;", "<!--", "-->", *"<>/'= éa"])


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("<p>One</p><p>two</p>", "One two"),
        ("a<br>b<BR />c", "a b c"),
        ("<div class='x'>x<script>var a = 1;</script></div>", "x"),
        ("Tom &amp; <b>Jer</b>ry", "Tom & Jerry"),
        ("a<script>b</script>c<SCRIPT x='1'>d</Script>e", "ace"),
        ("<style>s</style>a<script><style></script>b<style>c<br>d", "abc d"),
        ("<template>a</template><noscript>b</noscript><p>c</p>", "c"),
        ("<b>scripts</b><scripts>a</scripts>", "scriptsa"),
        ("<p>a<!-- x > y -->b</p>", "ab"),
        ("<img alt='1 > 0' src=\"data:image/png;base64,iVBORw0KGgo=\">seen<hr>", "seen"),
        ("![map](data:image/jpeg;name=a.b;base64,/9j/4AAQ+/==) of the town", "![map]() of the town"),
        ("&#8222;Caf&eacute;&ldquo; &#x2013; it&#39;s", "„Café“ – it's"),
        ("the mayor&amp;#8217;s", "the mayor’s"),
        ("&lt;p&gt;One&lt;/p&gt;&lt;p&gt;two&lt;/p&gt;", "One two"),
        ("<p>unclosed <i>tag", "unclosed tag"),
        ("<p title=it's>late</p>", "late"),
    ],
)
def test_markup_is_left_out(text: str, words: str) -> None:
    assert without_markup(text).split() == words.split()
    wanted, found = make_signature(words), make_signature(text)
    assert (found.text_digest, found.words) == (wanted.text_digest, wanted.words)
    assert words_of(text, DEFAULT) == wanted.words


@pytest.mark.parametrize(
    "text",
    [
        "if (a < b && c > d) e = f<g>h;",
        "std::vector<int> x; Map<String, List<Integer>> y; #include <stdio.h>",
        "x <p and y> z; n <a == m> k",
        "AT&T, R&D; https://example.com/?a=1&copy=2&para=3",
        "5 &unknown; 6, &; and &#; or &#xyz;",
        "<3 and <- and ->",
        "data: image;base64, but no such address",
    ],
)
def test_what_only_looks_like_markup_stays(text: str) -> None:
    assert without_markup(text) == text


@given(st.text(), st.lists(PIECES).map("".join))
def test_plain_text_stays_and_markup_is_gone_at_once(text: str, marked: str) -> None:
    plain = text.replace("<", "").replace("&", "").replace(";base64,", "")
    assert without_markup(plain) is plain
    assert has_markup(marked.encode()) or without_markup(marked) == marked


def test_texts_are_signed_together_as_alone() -> None:
    texts = ["<p>The ferry&#39;s late</p>", "", "a < b", "Über <b>alles</b>", "die Brücke"]
    rows = sign_texts(Texts.of(texts), DEFAULT).rows
    alone = sign_texts(Texts.of([without_markup(text) for text in texts]), DEFAULT).rows
    assert rows.tobytes() == alone.tobytes()


@pytest.mark.parametrize(
    "text",
    [
        "<!-- a -->" * 60_000 + "the text<br>",
        "<!--" * 200_000 + "<br>",
        "<br" + "<p " * 100_000,
        "<br>" + "<a \"<b '" * 100_000,
        "the text<br>" + "<style>" * 60_000,
        "<style>" * 60_000 + "<script>a</script>the text<br>",
        "&amp;" * 200_000 + "amp;" * 200_000,
    ],
    ids=lambda text: text[:20],
)
@pytest.mark.slow
def test_what_a_site_writes_is_read_in_a_moment(text: str) -> None:
    # In a process: nothing else interrupts a regular expression.
    code = (
        "import sys; from dedup.signature.markup import without_markup; without_markup(sys.stdin.read()); print('read')"
    )
    command = [sys.executable, "-c", code]
    ended = subprocess.run(command, input=text, stdout=subprocess.PIPE, text=True, timeout=HANG, check=True, cwd=ROOT)
    assert ended.stdout == "read\n"
