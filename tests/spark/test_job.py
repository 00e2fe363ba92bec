"""Jobs of `dedup files --on spark`, in the session of these tests: what they write, and what they refuse."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from dedup.corpus.job import Job
from dedup.errors import InputError
from dedup.readers.documents import Keep, Order, ReadOptions
from dedup.readers.files import find_files
from dedup.readers.streams import is_url
from dedup.rules.settings import RuleSettings
from tests.commands import run_dedup
from tests.corpus.test_files_verdicts import corpus
from tests.corpus.test_templates import chat
from tests.readers.test_reading import warc_record
from tests.report.renderings import data_in, keys_of
from tests.spark.test_spark_command import OUTPUTS, rows
from tests.texts import ENGLISH, document


def run(spark: Any, *inputs: str, output: str, force: bool = False, **further: Any) -> list[str]:
    """Do a job as the command does; return what it tells."""
    told: list[str] = []
    do(spark, inputs, output, told.append, overwrite=force, **further)
    return told


def do(
    spark: Any,
    inputs: Sequence[str],
    output: str,
    tell: Callable[[str], None],
    *,
    overwrite: bool = False,
    **further: Any,
) -> Any:
    from dedup.spark.job import run_job

    outputs = {name: f"{output}/{name}" for name in OUTPUTS} | further.pop("outputs", {})
    given = {"options": ReadOptions(), "settings": RuleSettings()} | further
    files = find_files([each if is_url(each) else Path(each) for each in inputs]).files
    return run_job(spark, Job[str](files=files, outputs=outputs, **given), tell, overwrite=overwrite)


@pytest.mark.parametrize(
    ("arguments", "given"),
    [
        (("--keep", "longest", "--cluster-fields"), {"order": Order(Keep.LONGEST), "cluster_fields": True}),
        (("--keep", "newest"), {"order": Order(Keep.NEWEST)}),
        (("--keep", "score", "--prefer", "in"), {"order": Order(Keep.HIGHEST, "score", ("in",))}),
        (("--limit", "90"), {"limit": 90}),
    ],
)
def test_outputs_are_those_of_files(spark: Any, tmp_path: Path, arguments: Any, given: dict[str, Any]) -> None:
    texts = [each for each in corpus("outputs", 60) if isinstance(each, str)]
    # Chats under one prompt are no copies of each other, and pages under other titles neither.
    texts += [*(text for number in range(6) for text in (chat(number), chat(number).upper())), ENGLISH, ENGLISH.upper()]
    lines: list[dict[str, Any]] = [
        {"text": text, "date": f"2026-{1 + number % 12:02}-05", "score": number * 37 % 101}
        for number, text in enumerate(texts)
    ]
    page = (
        "<html><head><title>{}</title></head><body><article><p>"
        + document(40, "thin")
        + ".</p></article></body></html>"
    )
    lines += [
        {"url": f"https://a.example/{each}", "html": page.format(f"{each} is here")} for each in ("Ann", "Bob", "Ann!")
    ]
    (tmp_path / "in.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    run(
        spark,
        str(tmp_path / "in.jsonl"),
        output=str(tmp_path / "out"),
        outputs={"pairs": str(tmp_path / "pairs")},
        **given,
    )
    told = ("--format", "parquet", "--pairs", "pairs.parquet")
    expected = run_dedup("files", tmp_path / "in.jsonl", "-o", "expected", *told, *arguments, folder=tmp_path)
    assert expected.returncode == 0, expected.stderr
    of_files = {name: rows(tmp_path / "expected" / f"{name}.parquet") for name in OUTPUTS[:-1]}
    assert {row["rule"] for row in of_files["similar"]} >= {
        "own_words",
        *(["same_short_text"] if "limit" not in given else []),
    }
    for name in ("kept", "dropped", "similar"):
        found = sorted(rows(tmp_path / "out" / name), key=lambda row: row["id"])
        assert [{k: v for k, v in row.items() if k != "id"} for row in found] == of_files[name]
    pairs = sorted(rows(tmp_path / "pairs"), key=lambda row: row["b"])
    assert pairs == sorted(rows(tmp_path / "pairs.parquet"), key=lambda row: row["b"])
    clusters = sorted((row["leader"], row["key"]) for row in rows(tmp_path / "out" / "clusters"))
    assert clusters == sorted((row["leader"], key) for row in of_files["clusters"] for key in row["keys"])


def test_an_index_grows_from_job_to_job(spark: Any, tmp_path: Path) -> None:
    first, second, index = (str(tmp_path / name) for name in ("1.jsonl", "2.jsonl", "known"))
    texts = [each for each in corpus("grows", 80) if isinstance(each, str)]
    for name, some in (("1", texts[:40]), ("2", texts[40:])):
        lines = [json.dumps({"id": f"{name}-{number}", "text": text}) for number, text in enumerate(some)]
        (tmp_path / f"{name}.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    run(spark, first, output=str(tmp_path / "out-1"), save_index=index)
    report = {"report": str(tmp_path / "spark.html")}
    run(spark, second, output=str(tmp_path / "out-2"), against=index, save_index=index, outputs=report)
    run_dedup("files", first, "-o", "expected-1", "--save-index", "index", folder=tmp_path)
    told = ("--format", "parquet", "--report", "files.html")
    expected = run_dedup("files", second, "-o", "expected-2", "--against", "index", *told, folder=tmp_path)
    assert expected.returncode == 0, expected.stderr
    found = sorted(rows(tmp_path / "out-2" / "dropped"), key=lambda row: row["id"])
    dropped = rows(tmp_path / "expected-2" / "dropped.parquet")
    assert [{k: v for k, v in row.items() if k != "id"} for row in found] == dropped
    assert any(row["original"].startswith("1-") for row in found)
    # Words of what was known come from the index.
    of_files, of_spark = (differences_in(tmp_path / f"{name}.html") for name in ("files", "spark"))
    assert of_files
    assert of_files.items() <= of_spark.items()
    with pytest.raises(InputError, match="known: already exists; remove it, or give it as --against"):
        run(spark, first, output=str(tmp_path / "out"), save_index=index)


def differences_in(page: Path) -> dict[str, Any]:
    """Return how the words of documents differ from those of their originals, by their keys."""
    data = data_in(page)
    keys = keys_of(data)
    return {keys[int(number)]: each for number, each in data["differences"].items()}


def test_what_is_mostly_copies_or_in_the_index_is_not_written(spark: Any, tmp_path: Path) -> None:
    lines = [json.dumps({"id": str(number), "text": document(40, number % 40)}) for number in range(110)]
    source, out, index = (str(tmp_path / name) for name in ("in.jsonl", "out", "known"))
    (tmp_path / "in.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"in\.jsonl: 70 of 110 documents are dropped, more than --max-dropped 0\.5"):
        run(spark, source, output=out, max_dropped=0.5, save_index=index)
    # The finished steps are there for another try.
    assert [path.name for path in (tmp_path / "out").iterdir()] == [".kept.work"]
    assert "unfinished" in run(spark, source, output=out, max_dropped=0.7, save_index=index)[0]
    (tmp_path / "in.jsonl").write_text("\n".join(lines[:60]) + "\n", encoding="utf-8")
    with pytest.raises(InputError, match="40 of 60 documents are in the index under their own keys: it was made of"):
        run(spark, source, output=str(tmp_path / "again"), against=index, save_index=index)


def test_where_nothing_can_be_read_nothing_is_written(spark: Any, tmp_path: Path) -> None:
    (tmp_path / "in.jsonl").write_text('{"text": "a"}\n', encoding="utf-8")
    with pytest.raises(InputError, match=r"no document could be read; nothing was written: .*in\.jsonl:1"):
        run(spark, str(tmp_path / "in.jsonl"), output=str(tmp_path / "out"), options=ReadOptions(("content",)))
    assert not list((tmp_path / "out").iterdir())


def test_words_that_a_user_adds_are_known_where_signatures_are_made(spark: Any, tmp_path: Path) -> None:
    (tmp_path / "words.txt").write_text("云计算平台\n", encoding="utf-8")
    text = "我们使用云计算平台来处理大量数据并且提供稳定的服务给所有的用户和企业客户" * 4
    lines = [json.dumps({"id": str(number), "text": text + " x" * number}) for number in range(3)]
    (tmp_path / "in.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    cut = warc_record("http://b/", b"<p>cut").replace(b"WARC-Date", b"WARC-Truncated: time\r\nWARC-Date")
    records = [warc_record("http://a/", b"\x89PNG", "Content-Type: image/png")] * 2 + [cut]
    (tmp_path / "in.warc").write_bytes(b"".join(records))
    settings = RuleSettings(dictionary=str(tmp_path / "words.txt"))
    inputs = [str(tmp_path / name) for name in ("in.jsonl", "in.warc")]
    done = do(spark, inputs, str(tmp_path / "out"), print, settings=settings)
    expected = run_dedup("files", *inputs, "--dictionary", "words.txt", "--dry-run", "--json", folder=tmp_path)
    told = {name: json.loads(expected.stdout)[name] for name in ("kept", "near", "wordless", "unanalysed", "skipped")}
    assert {name: getattr(done.result.tally, name) for name in told} == told
    assert told == {"kept": 2, "near": 2, "wordless": 0, "unanalysed": 1, "skipped": {"image/png": 2}}
