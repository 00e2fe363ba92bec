"""`dedup spark INPUT... -o DIR`: keep one of all near-duplicates in files, by a job of Spark."""

from __future__ import annotations

import argparse
import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from dedup.cli.compiling import compile_first
from dedup.cli.files import add_field_arguments
from dedup.cli.settings_options import add_settings_arguments, rule_settings
from dedup.corpus.reading.documents import ReadOptions
from dedup.corpus.reading.files import find_files
from dedup.corpus.reading.formats import KNOWN
from dedup.display import counted, plain
from dedup.errors import InputError
from dedup.rules.decision import Verdict
from dedup.warming import SIGNATURES

_OUTPUTS = ("kept", "dropped", "similar", "clusters", "rejected")
_WORK = "_work"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of this command."""
    parser.description = (
        "Keep one of all near-duplicates in files, by a job of Spark: the same ones as `dedup files` keeps. What is "
        "written is Parquet. With `spark-submit`, on many machines: all of them need the same paths."
    )
    parser.add_argument("inputs", nargs="+", type=Path, metavar="INPUT", help=f"files and folders: {KNOWN}")
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="DIR", help="where it is written")
    parser.add_argument(
        "--against",
        metavar="INDEX",
        help="what an index knows counts as earlier documents: a folder of --save-index, "
        "or a file .parquet of `dedup index export`",
    )
    parser.add_argument(
        "--save-index",
        metavar="INDEX",
        help="write what is known then, for --against and `dedup index import`; where "
        "it is the index of --against, only what is new is added to it",
    )
    parser.add_argument("--force", action="store_true", help="overwrite what is there")
    parser.add_argument(
        "--conf", action="append", default=[], metavar="NAME=VALUE", help="a property of Spark; may be given again"
    )
    add_field_arguments(parser)
    parser.add_argument("--json", action="store_true", help="print the report as an object for a program")
    add_settings_arguments(parser)


def run(options: argparse.Namespace) -> int:
    """Deduplicate and print the report."""
    settings = rule_settings(options)
    found = find_files(options.inputs)
    if not options.force and (there := [path for path in _paths(options.output) if path.exists()]):
        raise InputError(f"{there[0]}: is there already; write elsewhere, or give --force to overwrite it")
    conf = dict(_properties(options.conf))
    try:
        # Few have pyspark.
        from dedup.spark.deduplicating import deduplicate, require_checked  # noqa: PLC0415
        from dedup.spark.index import load_index, require_free, save_index  # noqa: PLC0415
        from dedup.spark.reading import read  # noqa: PLC0415
        from dedup.spark.session import session  # noqa: PLC0415
        from dedup.spark.steps import Steps  # noqa: PLC0415
    except ModuleNotFoundError as error:
        raise InputError(f"needs the package {error.name}; pip install 'scrapy-neardup[spark]'") from None
    require_checked(settings)
    compile_first("spark", *SIGNATURES, "files", "spark")
    fields = ReadOptions(options.text_field, options.html_field, options.key_field, options.max_bytes)
    output = options.output.absolute()
    with session(conf) as spark:
        work = (output / _WORK).as_uri()
        against, index = (each and _uri(each) for each in (options.against, options.save_index))
        known = load_index(spark, against, settings) if against else None
        if index and index != against:
            require_free(spark, index)
        try:
            # Pages are extracted once, however many steps need their texts.
            items = Steps(work).keep("read", read(spark, found.files, fields))
            documents = items.where(items.reason.isNull()).drop("reason")
            rejected = items.where(items.reason.isNotNull()).select("source", "reason")
            _require_documents(documents, rejected)
            result = deduplicate(documents, work, settings, known)
            frames = (result.kept, result.dropped, result.similar, result.clusters, rejected)
            for path, frame in zip(_paths(output), frames, strict=True):
                frame.write.mode("overwrite").parquet(path.as_uri())
            if index:
                if known is not None and index != against:
                    save_index(known, index, settings)
                save_index(result.index, index, settings)
        finally:
            _remove(output)
        report = _report(spark, output)
    if options.json:
        print(json.dumps(report))
    else:
        _print(report, options.output)
    return 0


def _uri(path: str) -> str:
    """Return a path as Spark takes it: without a scheme it is one of this machine."""
    return path.rstrip("/") if "://" in path else Path(path).absolute().as_uri()


def _remove(output: Path) -> None:
    """Remove what was kept on the way, and the folder itself where nothing else is in it."""
    shutil.rmtree(output / _WORK, ignore_errors=True)
    if output.is_dir() and not any(output.iterdir()):
        output.rmdir()


def _require_documents(documents: Any, rejected: Any) -> None:
    """Refuse to write where nothing could be read: a wrong name of a field would pass for an empty corpus."""
    if documents.isEmpty() and (first := rejected.first()) is not None:
        reason = f"{plain(first['source'])}: {plain(first['reason'])}"
        raise InputError(f"no document could be read, and nothing is written: {reason}")


def _paths(output: Path) -> Iterator[Path]:
    return (output / name for name in _OUTPUTS)


def _properties(given: list[str]) -> Iterator[tuple[str, str]]:
    for each in given:
        name, equals, value = each.partition("=")
        if not equals:
            raise InputError(f"--conf {plain(each)}: write NAME=VALUE, such as spark.master=local[4]")
        yield name.strip(), value.strip()


def _report(spark: Any, output: Path) -> dict[str, int]:
    """Count what was written."""
    frames = {name: spark.read.parquet((output / name).as_uri()) for name in _OUTPUTS}
    verdicts = {row["verdict"]: row["count"] for row in frames["dropped"].groupBy("verdict").count().collect()}
    return {
        "kept": frames["kept"].count(),
        "exact": verdicts.get(Verdict.EXACT_DUPLICATE.value, 0),
        "near": verdicts.get(Verdict.NEAR_DUPLICATE.value, 0),
        "similar": frames["similar"].count(),
        "rejected": frames["rejected"].count(),
    }


def _print(report: dict[str, int], output: Path) -> None:
    dropped = report["exact"] + report["near"]
    print(f"read        {counted(report['kept'] + dropped, 'document')}")
    print(f"kept        {counted(report['kept'], 'document')}   {report['similar']:,} similar to others")
    print(f"dropped     {counted(dropped, 'document')}   {report['exact']:,} exact, {report['near']:,} near")
    if report["rejected"]:
        print(f"rejected    {report['rejected']:,}, with reasons in {plain(str(output / 'rejected'))}")
    print(f"written     {', '.join(plain(str(path)) for path in _paths(output))}")
