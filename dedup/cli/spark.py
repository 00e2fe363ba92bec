"""`dedup spark INPUT... -o DIR`: keep one of all near-duplicates in files, by a job of Spark."""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Callable, Iterator
from functools import partial
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
from dedup.warming import SIGNATURES

_OUTPUTS = ("kept", "dropped", "similar", "clusters", "rejected")
_WORK = "_work"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of this command."""
    parser.description = (
        "Keep one of all near-duplicates in files, by a job of Spark: the same ones as `dedup files` keeps. What is "
        "written is Parquet. With `spark-submit`, on many machines: all of them need the same paths, or such as "
        "hdfs://... and s3a://..., which Spark reads and writes."
    )
    parser.add_argument("inputs", nargs="+", metavar="INPUT", help=f"files and folders, or their URLs: {KNOWN}")
    parser.add_argument("-o", "--output", required=True, metavar="DIR", help="where it is written, a folder or its URL")
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
    is_remote = _are_urls(options.inputs)
    files = [] if is_remote else find_files(options.inputs).files
    if not (_is_url(options.output) or options.force):
        _require_free(options.output, os.path.exists)
    conf = dict(_properties(options.conf))
    try:
        # Few have pyspark.
        from dedup.spark import hadoop  # noqa: PLC0415
        from dedup.spark.deduplicating import deduplicate, require_checked  # noqa: PLC0415
        from dedup.spark.reading import read  # noqa: PLC0415
        from dedup.spark.remote import find_remote_files, read_remote  # noqa: PLC0415
        from dedup.spark.session import session  # noqa: PLC0415
        from dedup.spark.steps import Steps  # noqa: PLC0415
    except ModuleNotFoundError as error:
        raise InputError(f"needs the package {error.name}; pip install 'scrapy-neardup[spark]'") from None
    require_checked(settings)
    compile_first("spark", *SIGNATURES, "files")
    fields = ReadOptions(options.text_field, options.html_field, options.key_field, options.max_bytes)
    root = _root(options.output)
    with session(conf) as spark:
        if _is_url(options.output) and not options.force:
            _require_free(options.output, partial(hadoop.exists, spark))
        work = f"{root}/{_WORK}"
        try:
            if is_remote:
                found = read_remote(spark, options.inputs, find_remote_files(spark, options.inputs), fields)
            else:
                found = read(spark, files, fields)
            # Pages are extracted once, however many steps need their texts.
            items = Steps(work).keep("read", found)
            documents = items.where(items.reason.isNull()).drop("reason")
            rejected = items.where(items.reason.isNotNull()).select("source", "reason")
            _require_documents(documents, rejected)
            result = deduplicate(documents, work, settings)
            frames = (result.kept, result.dropped, result.similar, result.clusters, rejected)
            for name, frame in zip(_OUTPUTS, frames, strict=True):
                frame.write.mode("overwrite").parquet(f"{root}/{name}")
        finally:
            hadoop.remove(spark, work)
            # Nothing could be written.
            if hadoop.is_empty_folder(spark, root):
                hadoop.remove(spark, root)
        report = _report(spark, root)
    if options.json:
        print(json.dumps(report))
    else:
        _print(report, options.output)
    return 0


def _is_url(path: str) -> bool:
    """Say whether a path is for Spark to read or write."""
    return "://" in path


def _are_urls(inputs: list[str]) -> bool:
    kinds = set(map(_is_url, inputs))
    if len(kinds) > 1:
        raise InputError("inputs with a scheme, and others: give all of them with one, such as file:///data/a.jsonl")
    return kinds == {True}


def _root(output: str) -> str:
    """Return a folder as Spark has it: not as a URI, in which a space would be another letter."""
    return output.rstrip("/") if _is_url(output) else f"file://{Path(output).absolute()}"


def _require_free(output: str, exists: Callable[[str], bool]) -> None:
    for path in (f"{output.rstrip('/')}/{name}" for name in _OUTPUTS):
        if exists(path):
            raise InputError(f"{path}: is there already; write elsewhere, or give --force to overwrite it")


def _require_documents(documents: Any, rejected: Any) -> None:
    """Refuse to write where nothing could be read: a wrong name of a field would pass for an empty corpus."""
    if documents.isEmpty() and (first := rejected.first()) is not None:
        reason = f"{plain(first['source'])}: {plain(first['reason'])}"
        raise InputError(f"no document could be read, and nothing is written: {reason}")


def _properties(given: list[str]) -> Iterator[tuple[str, str]]:
    for each in given:
        name, equals, value = each.partition("=")
        if not equals:
            raise InputError(f"--conf {plain(each)}: write NAME=VALUE, such as spark.master=local[4]")
        yield name.strip(), value.strip()


def _report(spark: Any, root: str) -> dict[str, int]:
    """Count what was written."""
    frames = {name: spark.read.parquet(f"{root}/{name}") for name in _OUTPUTS}
    verdicts = {row["verdict"]: row["count"] for row in frames["dropped"].groupBy("verdict").count().collect()}
    return {
        "kept": frames["kept"].count(),
        "exact": verdicts.get("exact duplicate", 0),
        "near": verdicts.get("near duplicate", 0),
        "similar": frames["similar"].count(),
        "rejected": frames["rejected"].count(),
    }


def _print(report: dict[str, int], output: str) -> None:
    dropped = report["exact"] + report["near"]
    print(f"read        {counted(report['kept'] + dropped, 'document')}")
    print(f"kept        {counted(report['kept'], 'document')}   {report['similar']:,} similar to others")
    print(f"dropped     {counted(dropped, 'document')}   {report['exact']:,} exact, {report['near']:,} near")
    if report["rejected"]:
        print(f"rejected    {report['rejected']:,}, with reasons in {plain(f'{output}/rejected')}")
    print(f"written     {', '.join(plain(f'{output}/{name}') for name in _OUTPUTS)}")
