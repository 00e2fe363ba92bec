from __future__ import annotations

from typing import Any

import pytest

from dedup.corpus.tally import about_settings
from dedup.errors import SettingsError
from dedup.keys import TableDesign
from dedup.rules.scope import Scope
from dedup.rules.settings import (
    LIMITS,
    Caution,
    DedupSettings,
    LostLimit,
    Mode,
    RuleSettings,
    with_changes,
)


def read(**values: Any) -> DedupSettings:
    return DedupSettings.read({f"DEDUP_{name.upper()}": value for name, value in values.items()}.get)


def test_nothing_set_gives_the_defaults() -> None:
    assert read() == DedupSettings()


def test_an_index_is_stored_with_the_rules_alone() -> None:
    crawl = DedupSettings(database_url="sqlite://", outage_timeout=5, run="monday", min_jaccard=0.6)
    assert about_settings(crawl) == about_settings(RuleSettings(min_jaccard=0.6))
    # The words of a dictionary are part of the scheme's name.
    assert set(about_settings(crawl)) == set(RuleSettings.names()) - {"dictionary"}


def test_rules_are_read_from_the_settings_of_a_crawl_too() -> None:
    values = {"DEDUP_MIN_TOKENS": "10", "DEDUP_OUTAGE_TIMEOUT": "no number"}
    assert RuleSettings.read(values.get) == RuleSettings(min_tokens=10)


def test_the_defaults_are_those_that_were_measured() -> None:
    settings = DedupSettings()
    assert settings.tables == TableDesign(5, 2)
    assert settings.caution is Caution.BALANCED
    limits = settings.limits
    assert (limits.min_jaccard, limits.min_containment, limits.min_length_ratio) == (0.55, 0.9, 0.6)
    assert (settings.leader_jaccard, settings.leader_containment) == (0.4, 0.7)
    assert (limits.max_replaced, limits.max_rewritten) == (1.25, 0.1)
    assert (limits.max_added, limits.max_swapped, limits.min_numbers) == (0.3, 0.4, 0.3)
    assert settings.max_compared == 20_000
    assert (settings.min_tokens, settings.short_tokens, settings.short_jaccard) == (20, 64, 0.7)
    assert settings.mode is Mode.CHECKED


@pytest.mark.parametrize("caution", Caution)
def test_caution_gives_the_limits_that_are_not_given(caution: Caution) -> None:
    for settings in (read(caution=caution.value), DedupSettings(caution=caution), RuleSettings(caution=caution)):
        assert settings.caution is caution
        assert settings.limits == LIMITS[caution]


@pytest.mark.parametrize("caution", Caution)
@pytest.mark.parametrize("name", ["min_jaccard", "max_lost"])
def test_a_limit_that_is_given_wins_over_the_caution(name: str, caution: Caution) -> None:
    value = LostLimit(0, 7, 7) if name == "max_lost" else 0.5
    expected = LIMITS[caution]._replace(**{name: value})
    assert read(caution=caution, **{name: str(value)}).limits == expected
    assert DedupSettings(caution=caution, **{name: value}).limits == expected


def test_numbers_given_in_code_as_texts_are_numbers() -> None:
    values: dict[str, Any] = {"min_jaccard": "0.6", "min_tokens": "10", "outage_timeout": "5"}
    assert DedupSettings(**values) == DedupSettings(min_jaccard=0.6, min_tokens=10, outage_timeout=5)
    for name in values:
        wrong: dict[str, Any] = {name: "many"}
        with pytest.raises(SettingsError, match=f"DEDUP_{name.upper()} = 'many': expected a"):
            DedupSettings(**wrong)


def test_words_given_in_code_are_what_they_mean() -> None:
    given: dict[str, Any] = {
        "mark_only": "off",
        "scope": "host",
        "caution": "eager",
        "mode": "paper",
    }
    settings = DedupSettings(**given)
    assert (settings.mark_only, settings.scope) == (False, Scope.HOST)
    assert (settings.caution, settings.mode) == (Caution.EAGER, Mode.PAPER)


def test_a_number_is_stored_alike_however_it_was_written() -> None:
    stored = [about_settings(RuleSettings(min_jaccard=value)) for value in (1, 1.0)]
    assert stored == [about_settings(read(min_jaccard="1"))] * 2


def test_with_another_caution_come_its_limits() -> None:
    changed = with_changes(DedupSettings(run="monday", min_tokens=3), caution="eager")
    assert changed == DedupSettings(run="monday", min_tokens=3, caution=Caution.EAGER)


def test_limits_that_were_given_stay_with_another_caution() -> None:
    before = DedupSettings(min_jaccard=0.6)
    assert with_changes(before, caution="eager") == DedupSettings(caution=Caution.EAGER, min_jaccard=0.6)
    changed = with_changes(before, caution="eager", min_jaccard=0.65, max_lost="30")
    assert changed == DedupSettings(caution=Caution.EAGER, min_jaccard=0.65, max_lost=LostLimit(0, 30, 30))


def test_limits_stay_where_the_caution_does() -> None:
    before = DedupSettings(min_jaccard=0.6)
    assert with_changes(before, min_tokens=3) == DedupSettings(min_jaccard=0.6, min_tokens=3)
    with pytest.raises(SettingsError, match="DEDUP_CAUTION"):
        with_changes(before, caution="bold")


def test_every_default_is_read_back_from_its_text_form() -> None:
    settings = DedupSettings()
    texts = {each: str(getattr(settings, each)) for each in DedupSettings.names()}
    assert read(**texts) == settings


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("enabled", False, False),
        ("enabled", "False", False),
        ("enabled", "0", False),
        ("enabled", 1, True),
        ("enabled", "yes", True),
        ("database_url", "postgresql://h/db", "postgresql://h/db"),
        ("outage_timeout", "2.5", 2.5),
        ("outage_timeout", 3, 3.0),
        ("scheme", "pairs", "pairs"),
        ("mode", "paper", Mode.PAPER),
        ("mode", Mode.PAPER, Mode.PAPER),
        ("tables", "6 choose 3", TableDesign(6, 3)),
        ("tables", TableDesign(6, 3), TableDesign(6, 3)),
        ("min_tokens", "10", 10),
        ("min_tokens", 0, 0),
        ("min_jaccard", "0.5", 0.5),
        ("min_jaccard", 1, 1.0),
        ("caution", "careful", Caution.CAREFUL),
        ("caution", Caution.EAGER, Caution.EAGER),
        ("run", "", ""),
    ],
)
def test_a_value_is_understood(name: str, value: object, expected: object) -> None:
    found = getattr(read(**{name: value}), name)
    assert found == expected
    assert type(found) is type(expected)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("enabled", "maybe"),
        ("enabled", ""),
        ("enabled", 2),
        ("scheme", "poems"),
        ("scheme", "python128"),
        ("mode", "exact"),
        ("tables", "4"),
        ("tables", "4 choose 4"),
        ("tables", 4),
        ("tables", "4 choose 2"),
        ("tables", TableDesign(3, 1)),
        ("min_tokens", "twelve"),
        ("min_tokens", ""),
        ("min_tokens", 3.7),
        ("min_tokens", [3]),
        ("min_tokens", -1),
        ("caution", ""),
        ("caution", "Eager"),
        ("caution", 1),
        ("outage_timeout", -1),
        ("outage_timeout", "nan"),
        ("outage_timeout", "inf"),
        ("outage_timeout", "soon"),
        ("min_jaccard", 1.1),
        ("min_jaccard", -0.1),
        ("min_jaccard", "nan"),
        ("scope", "planet"),
    ],
)
def test_a_value_that_cannot_be_used_is_refused_in_one_line_that_names_the_setting(name: str, value: object) -> None:
    with pytest.raises(SettingsError) as caught:
        read(**{name: value})
    message = str(caught.value)
    assert f"DEDUP_{name.upper()}" in message
    assert "\n" not in message


@pytest.mark.parametrize(
    "values",
    [{"tables": TableDesign(2, 1)}, {"min_jaccard": 2}, {"outage_timeout": -1}, {"min_tokens": -1}],
)
def test_values_given_in_code_are_checked_too(values: dict[str, Any]) -> None:
    with pytest.raises(SettingsError):
        DedupSettings(**values)


def test_settings_cannot_be_changed() -> None:
    with pytest.raises(AttributeError):
        DedupSettings().min_tokens = 3  # type: ignore[misc]


def test_python_names_every_setting_to_whoever_asks_for_help() -> None:
    described = f"{RuleSettings.__doc__}{DedupSettings.__doc__}"
    assert [name for name in DedupSettings.names() if f"    {name}: " not in described] == []


@pytest.mark.parametrize("design", ["4 choose 1", "5 choose 2", "6 choose 3", "4 choose 1 then 4 choose 1"])
def test_tables_that_miss_nothing_within_3_bits_are_taken(design: str) -> None:
    assert str(read(tables=design).tables) == design


@pytest.mark.parametrize("design", ["3 choose 1", "4 choose 2", "6 choose 4", "4 choose 1 then 3 choose 1"])
def test_tables_that_would_miss_something_within_3_bits_are_refused(design: str) -> None:
    with pytest.raises(SettingsError) as caught:
        read(tables=design)
    missed = TableDesign.parse(design).radius
    assert str(caught.value) == (
        f"DEDUP_TABLES = '{design}': finds all within {missed} bits, not within 3; take 4 choose 1 or 5 choose 2 or "
        "6 choose 3"
    )


@pytest.mark.parametrize(
    ("radius", "design"),
    [(0, "5 choose 2"), (3, "5 choose 2"), (6, "8 choose 2"), (10, "11 choose 1"), (32, "33 choose 1")],
)
def test_tables_follow_the_radius(radius: int, design: str) -> None:
    assert str(read(mode="paper", radius=str(radius)).tables) == design


def test_a_jaccard_similarity_that_the_mode_has_no_use_for_is_refused() -> None:
    with pytest.raises(SettingsError, match=r"DEDUP_MIN_JACCARD = 0\.8: DEDUP_MODE = 'paper' compares fingerprints"):
        read(mode="paper", min_jaccard=".8")
    assert read(mode="paper", caution="careful").min_jaccard == 0.7


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"radius": 10}, "DEDUP_RADIUS = 10: words decide; only DEDUP_MODE = 'paper' has another one"),
        ({"radius": 33, "mode": "paper"}, "DEDUP_RADIUS = 33: expected a whole number from 0 to 32 bits"),
        ({"radius": "x", "mode": "paper"}, "DEDUP_RADIUS = 'x': expected a whole number from 0 to 32 bits"),
        (
            {"radius": 6, "mode": "paper", "tables": "5 choose 2"},
            "DEDUP_TABLES = '5 choose 2': finds all within 3 bits, not within 6; take 7 choose 1 or 8 choose 2",
        ),
    ],
)
def test_a_radius_that_nothing_can_be_found_within_is_refused(given: dict[str, Any], said: str) -> None:
    with pytest.raises(SettingsError) as caught:
        read(**given)
    assert str(caught.value) == said
