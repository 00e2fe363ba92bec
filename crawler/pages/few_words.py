"""Pages of few words: those that scripts would write, those that only lead elsewhere, and those without content."""

from __future__ import annotations

import re
from itertools import islice

from lxml import etree
from lxml.html import HtmlElement

from crawler.pages.moves import find_in_scripts, says_moved

MOST_WORDS = 500
"""Characters: a page with more text has a word of its own."""

FRAMES = ("frame", "iframe")

# More than a menu or a note that it is loading.
_MOST_OF_A_SHELL = 200
_MUCH_SCRIPT = 2_000
_RUNNABLE = ("", "module", "text/javascript", "application/javascript", "application/x-javascript")
# What frameworks fill: an element of their own name, or one without a meaning.
_FILLED = re.compile("div|main|section|[a-z]+-[a-z-]+")
_UNSEEN = ("head", "title", "script", "style", "noscript", "noframes", "template")
_MEDIA = ("img", "picture", "svg", "video", "audio", "object", "embed")
_FORMS = ("form", "input")
_MOST_ELEMENTS_OF_A_NOTE = 12
_LEVELS_OF_A_NOTE = 3


class FewWords:
    """What there is on a page of few words.

    Args:
        tree: the page; what is not shown is taken out of it.
        text: its main text.

    Attributes:
        has_media: whether there are pictures, films and the like.
        is_shell: whether there is little but scripts, which would have to write the text. A page of few words that has
            some script is none: what tells it apart is that it says so in a noscript element, or that what is to be
            filled stands there empty.
        target: where it leads, by its scripts or by the one link of a note that it has moved; None for any other page.
        has_frame: whether there is more than what leads there, such as a header and a footer.
        problem: why it has no content; None if it has some.
    """

    def __init__(self, tree: HtmlElement, text: str) -> None:
        scripts = [script for script in tree.iter("script") if (script.get("type") or "").lower() in _RUNNABLE]
        inline = [script.text or "" for script in scripts]
        is_loaded = any(script.get("src") for script in scripts)
        note = "".join(element.text_content() for element in tree.iter("noscript")).lower()
        asks_for_script = bool(scripts) and "javascript" in note
        etree.strip_elements(tree, *_UNSEEN, with_tail=False)
        for element in tree.iter("object", *FRAMES):
            # What browsers show that cannot show the other page.
            element[:], element.text = [], None
        seen = " ".join(tree.text_content().split())
        has_frames = _has(tree, FRAMES)
        self.has_media = _has(tree, _MEDIA)
        is_bare = not (self.has_media or has_frames or _has(tree, _FORMS))
        is_bare &= max(len(seen), len(text)) <= _MOST_OF_A_SHELL
        unfilled = [element for element in tree.iterfind("body/*") if _is_unfilled(element)]
        is_written = is_loaded or asks_for_script or sum(map(len, inline)) >= _MUCH_SCRIPT
        is_empty = asks_for_script or not seen or bool(unfilled)
        # A short script may only count visitors or lead elsewhere, and needs a name to find what it fills.
        has_named = any(element.get("id") or "-" in element.tag for element in unfilled)
        is_filled = has_named and any(map(str.strip, inline)) and find_in_scripts(inline) is None
        self.is_shell = is_bare and ((is_written and is_empty) or is_filled)
        self.target = None
        if is_bare and not is_loaded:
            self.target = _target_of_note(tree, seen) if seen else find_in_scripts(inline)
        self.has_frame = self.target is None
        if self.target is None and says_moved(seen):
            self.target = find_in_scripts(inline) or _target_of_part(tree)
        self.problem = None
        if not seen:
            rest = {"but frames": has_frames, "but pictures": self.has_media, "but a note on JavaScript": bool(note)}
            self.problem = "no text " + next((name for name, is_there in rest.items() if is_there), "at all")
        elif not text:
            self.problem = "its text cannot be told from its frame"


def _has(tree: HtmlElement, tags: tuple[str, ...]) -> bool:
    return next(tree.iter(*tags), None) is not None


def _is_unfilled(element: HtmlElement) -> bool:
    return not len(element) and not (element.text or "").strip() and _FILLED.fullmatch(str(element.tag)) is not None


def _target_of_part(tree: HtmlElement) -> str | None:
    """Return the link of a note that the page has moved, in a frame of whatever else."""
    for link in tree.iterfind(".//a[@href]"):
        for part in islice(link.iterancestors(), _LEVELS_OF_A_NOTE):
            text = part.text_content()
            if len(text) > _MOST_OF_A_SHELL or len({each.get("href") for each in part.iter("a")}) > 1:
                break
            if says_moved(text):
                return str(link.get("href"))
    return None


def _target_of_note(tree: HtmlElement, seen: str) -> str | None:
    targets = {link.get("href") for link in tree.iter("a")}
    elements = sum(1 for _ in islice(tree.iter(), _MOST_ELEMENTS_OF_A_NOTE + 1))
    is_note = len(targets) == 1 and elements <= _MOST_ELEMENTS_OF_A_NOTE and says_moved(seen)
    return targets.pop() if is_note else None
