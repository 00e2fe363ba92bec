"""Markup that trafilatura leaves out: what is text in it stands in the main text, once, and the rest does not."""

from __future__ import annotations

import pytest

from dedup.signature.extraction import find_text, parse_html
from tests.texts import document

STORY = [f"{document(40, f'story {seed}').capitalize()}." for seed in range(6)]
ANSWER = f"{document(40, 'answer').capitalize()}."
ASKED = "May dogs come along?"
FORMULA = "<mi>alpha</mi><mo>=</mo><msup><mi>beta</mi><mn>22</mn></msup>"
SOURCE = "<annotation encoding='application/x-tex'>alpha=beta^{22}</annotation>"
MEANT = "<annotation-xml encoding='MathML-Content'><apply><ci>alpha</ci></apply></annotation-xml>"
BOTH = f"<semantics><mrow>{FORMULA}</mrow>{MEANT}{SOURCE}</semantics>"
SHOWN = "alpha = beta 22"


def text_of(part: str) -> str:
    before, after = ("".join(f"<p>{text}</p>" for text in half) for half in (STORY[:3], STORY[3:]))
    page = f"<html><body><article><h1>Ferries</h1>{before}{part}{after}</article></body></html>"
    found = find_text(parse_html(page)).text
    assert [text for text in STORY if found.count(text) != 1] == []
    return found


def lines_of(part: str) -> list[str]:
    lines = [line.strip(" -") for line in text_of(part).splitlines()]
    return [line for line in lines if line and line not in ("Ferries", *STORY)]


@pytest.mark.parametrize(
    "asked",
    [
        f"<h2><button>{ASKED}</button></h2>",
        f"<h3><span><button>{ASKED}</button></span></h3>",
        f"<h4><button class='accordion-button'><span class='button-text'>{ASKED}</span></button></h4>",
        f"<h3><button>{ASKED}<span class='icon' aria-hidden='true'>more</span></button></h3>",
        f"<h3><button>{ASKED}</button><button>+</button></h3>",
        f"<div class='head'><i></i><h3><button>{ASKED}</button></h3></div>",
        f"<button class='accordion'><h3>{ASKED}</h3></button>",
        "<h3><button>May <b>dogs</b> come along?</button></h3>",
    ],
)
def test_a_button_that_is_all_of_a_heading_is_a_heading(asked: str) -> None:
    assert lines_of(f"{asked}<div><p>{ANSWER}</p></div>") == [ASKED, ANSWER]


@pytest.mark.parametrize(
    "part",
    [
        f"<details><summary><button>{ASKED}</button></summary><p>{ANSWER}</p></details>",
        f"<details><summary><h3><button>{ASKED}</button></h3></summary><p>{ANSWER}</p></details>",
        f"<dl><dt><button>{ASKED}</button></dt><dd>{ANSWER}</dd></dl>",
        f"<dl><div class='menu'><dt><button>{ASKED}</button></dt><dd>{ANSWER}</dd></div></dl>",
    ],
)
def test_so_is_one_that_is_all_of_a_summary_or_a_term(part: str) -> None:
    assert lines_of(part) == [ASKED, ANSWER]


@pytest.mark.parametrize(
    ("part", "lines"),
    [
        (f"<h2>Prices <button>Copy</button></h2><p>{ANSWER}</p>", ["Prices", ANSWER]),
        (f"<h2><button>Back</button><button>Close</button></h2><p>{ANSWER}</p>", [ANSWER]),
        (f"<p>{ANSWER}</p><div><div><h4><button>11 claps</button></h4></div></div>", [ANSWER]),
        (f"<button>Subscribe</button><p>{ANSWER}</p>", [ANSWER]),
        (f"<button><h3>Tickets</h3> Buy</button><p>{ANSWER}</p>", [ANSWER]),
    ],
)
def test_any_other_button_is_no_text(part: str, lines: list[str]) -> None:
    assert lines_of(part) == lines


TERMS = ["Bow", "the front", "Stern", "the back"]
GROUPS = "<div class='menu'><dt>Bow</dt><dd>the front</dd></div><div class='meta'><dt>Stern</dt><dd>the back</dd></div>"


@pytest.mark.parametrize(
    ("part", "lines"),
    [
        (f"<dl>{GROUPS}</dl>", TERMS),
        (f"<dl><div><div>{GROUPS}</div></div></dl>", TERMS),
        ("<dl><div><dt>Bow<dd><a href='/b'>the front</a></div><div><dt>Stern<dd>the back</div></dl>", TERMS),
        (f"<dl><div class='menu'><dt>Parts</dt><dd>Two:<dl>{GROUPS}</dl></dd></div></dl>", ["Parts", "Two:", *TERMS]),
        ("<dl><div class='menu'><dt>Bow</dt><dt>Stem</dt><dd>one</dd></div></dl>", ["Bow", "Stem", "one"]),
        ("<dl><div class='menu'>More words</div><dt>Bow</dt><dd>the front</dd></dl>", TERMS[:2]),
    ],
)
def test_groups_of_terms_are_found(part: str, lines: list[str]) -> None:
    assert lines_of(part) == lines


@pytest.mark.parametrize(
    "formula",
    [
        f"<math>{FORMULA}</math>",
        f"<math>\n  <mrow>\n{FORMULA}\n  </mrow>\n</math>",
        f"<math display='block'>{FORMULA}</math>",
        f"<math alttext='alpha=beta^22'>{BOTH}</math>",
        f"<math>{FORMULA}<mphantom><mi>gamma</mi></mphantom></math>",
        f"<span><span style='display: none'><math>{BOTH}</math></span><img src='a.svg' alt='alpha=beta^22'></span>",
        f"<span><span><math>{BOTH}</math></span><span aria-hidden='true'><i>alpha</i>=beta22</span></span>",
    ],
)
def test_a_formula_is_found_once_as_it_is_shown(formula: str) -> None:
    assert lines_of(f"<p>So {formula}, they say.</p>") == [f"So {SHOWN}, they say."]
    assert lines_of(f"<ul><li>So {formula}, they say.</li></ul>") == [f"So {SHOWN}, they say."]
    assert lines_of(f"<h2>So {formula}</h2><p>{ANSWER}</p>") == [f"So {SHOWN}", ANSWER]
    assert lines_of(f"<div class='equation'>{formula}</div>") == [SHOWN]


@pytest.mark.parametrize(
    ("formula", "shown"),
    [
        ("<mfrac><mn>11</mn><mn>22</mn></mfrac>", "11 22"),
        ("<msqrt><mn>1122</mn></msqrt>", "1122"),
        ("<mi>x&#1;y</mi>", "xy"),
        ("<mtext>where <b>n</b></mtext><mi>k</mi>", "where n k"),
        (f"<semantics><mrow></mrow>{SOURCE}<annotation>alpha</annotation></semantics>", "alpha=beta^{22}"),
        ("", ""),
    ],
)
def test_formulas_that_differ_make_texts_that_differ(formula: str, shown: str) -> None:
    assert lines_of(f"<p>So (<math>{formula}</math>).</p>") == [f"So ({shown})."]


@pytest.mark.parametrize(
    ("part", "lines"),
    [
        (f"<fieldset><legend>Rates</legend><p>{ANSWER}</p></fieldset>", ["Rates", ANSWER]),
        (f"<fieldset><legend><h2>Rates</h2></legend><p>{ANSWER}</p></fieldset>", ["Rates", ANSWER]),
        (f"<fieldset><legend>Rates</legend>{ANSWER}</fieldset>", ["Rates", ANSWER]),
        (
            f"<fieldset><legend>First</legend><p>{ANSWER}</p></fieldset><fieldset><legend>Then</legend><p>No.</p></fieldset>",
            ["First", ANSWER, "Then", "No."],
        ),
        (
            f"<fieldset><legend>Rates</legend><p>{ANSWER}</p><label><input type='radio'>Yes</label></fieldset>",
            ["Rates", ANSWER],
        ),
        ("<fieldset><legend>Colour</legend><label><input type='radio'>Red</label></fieldset>", []),
        (f"<form><fieldset><legend>Newsletter</legend><p>{ANSWER}</p><input name='mail'></fieldset></form>", []),
    ],
)
def test_a_fieldset_of_text_is_found_with_its_legend(part: str, lines: list[str]) -> None:
    assert lines_of(part) == lines


def test_legends_in_a_form_that_is_all_of_a_page_are_found() -> None:
    parts = [f"<fieldset><legend>Round {n}</legend><p>{text}</p><input></fieldset>" for n, text in enumerate(STORY)]
    found = find_text(parse_html(f"<form>{''.join(parts)}</form>"))
    assert found.text.split("\n") == [line for n, text in enumerate(STORY) for line in (f"Round {n}", text)]
