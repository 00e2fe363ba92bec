"""The texts of the site, read from the files beside this module."""

import re
from dataclasses import dataclass, replace
from datetime import date
from importlib.resources import files


@dataclass(frozen=True)
class Article:
    """One text: a story, or the introduction of another page."""

    slug: str
    lang: str
    title: str
    byline: str
    published: date
    paragraphs: tuple[str, ...]

    @property
    def date_text(self) -> str:
        """Return the day of publication as a reader would write it."""
        day = self.published
        if self.lang == "zh":
            return f"{day.year}年{day.month}月{day.day}日"
        return f"{day.day} {day:%B} {day.year}"

    def edited(self, old: str, new: str) -> "Article":
        """Return the article with `old`, which must occur exactly once, replaced."""
        occurrences = sum(paragraph.count(old) for paragraph in self.paragraphs)
        if occurrences != 1:
            raise ValueError(f"{old!r} occurs {occurrences} times in {self.slug}")
        return replace(self, paragraphs=tuple(p.replace(old, new) for p in self.paragraphs))

    def opened_with(self, paragraph: str) -> "Article":
        """Return the article with a paragraph put before the others."""
        return replace(self, paragraphs=(paragraph, *self.paragraphs))

    def closed_with(self, paragraph: str) -> "Article":
        """Return the article with a paragraph put after the others."""
        return replace(self, paragraphs=(*self.paragraphs, paragraph))

    def without_last(self) -> "Article":
        """Return the article cut by its last paragraph."""
        return replace(self, paragraphs=self.paragraphs[:-1])


def load_articles(folder: str, lang: str) -> dict[str, Article]:
    """Return the articles of `folder` in one language by slug, oldest first.

    A file holds the title, the byline and the ISO date on a line each, then the
    paragraphs, separated by blank lines.
    """
    articles = []
    for file in files(__package__).joinpath(folder, lang).iterdir():
        head, *paragraphs = re.split(r"\n{2,}", file.read_text(encoding="utf-8").strip())
        title, byline, published = head.splitlines()
        slug = file.name.removesuffix(".txt")
        articles.append(Article(slug, lang, title, byline, date.fromisoformat(published), tuple(paragraphs)))
    articles.sort(key=lambda article: (article.published, article.slug))
    return {article.slug: article for article in articles}
