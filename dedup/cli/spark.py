"""`dedup spark INPUT... -o DIR`: keep one of all near-duplicates in files, by a job of Spark."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator

from dedup.cli.compiling import compile_first
from dedup.cli.files import add_field_arguments
from dedup.cli.settings_options import add_settings_arguments, rule_settings
from dedup.corpus.reading.documents import ReadOptions
from dedup.corpus.reading.formats import KNOWN
from dedup.display import counted, plain
from dedup.errors import InputError
from dedup.warming import SIGNATURES


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of this command."""
    parser.description = (
        "Keep one of all near-duplicates in files, by a job of Spark: the same ones as `dedup files` keeps. What is "
        "written is Parquet. With `spark-submit`, on many machines: all of them need the same paths, or such as "
        "hdfs://... and s3a://..., which Spark reads and writes."
    )
    parser.add_argument("inputs", nargs="+", metavar="INPUT", help=f"files and folders, or their URLs: {KNOWN}")
    parser.add_argument("-o", "--output", required=True, metavar="DIR", help="where it is written, a folder or its URL")
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
    conf = dict(_properties(options.conf))
    try:
        # Few have pyspark.
        from dedup.spark.job import OUTPUTS, SparkJob, run_job  # noqa: PLC0415
        from dedup.spark.session import session  # noqa: PLC0415
    except ModuleNotFoundError as error:
        raise InputError(f"needs the package {error.name}; pip install 'scrapy-neardup[spark]'") from None
    fields = ReadOptions(options.text_field, options.html_field, options.key_field, options.max_bytes)
    job = SparkJob(
        options.inputs, options.output, fields, settings, options.against, options.save_index, overwrite=options.force
    )
    job.check()
    compile_first("spark", *SIGNATURES, "files", "spark")
    with session(conf) as spark:
        report = run_job(spark, job)
    if options.json:
        print(json.dumps(report))
    else:
        _print(report, [f"{options.output.rstrip('/')}/{name}" for name in OUTPUTS])
    return 0


def _properties(given: list[str]) -> Iterator[tuple[str, str]]:
    for each in given:
        name, equals, value = each.partition("=")
        if not equals:
            raise InputError(f"--conf {plain(each)}: write NAME=VALUE, such as spark.master=local[4]")
        yield name.strip(), value.strip()


def _print(report: dict[str, int], written: list[str]) -> None:
    dropped = report["exact"] + report["near"]
    print(f"read        {counted(report['kept'] + dropped, 'document')}")
    print(f"kept        {counted(report['kept'], 'document')}   {report['similar']:,} similar to others")
    print(f"dropped     {counted(dropped, 'document')}   {report['exact']:,} exact, {report['near']:,} near")
    if report["rejected"]:
        print(f"rejected    {report['rejected']:,}, with reasons in {plain(written[-1])}")
    print(f"written     {', '.join(map(plain, written))}")
