"""Which tests are slow: those that start processes, crawls or servers, themselves or in what they use."""

from __future__ import annotations

import concurrent.futures
import multiprocessing
import os
import socket
import subprocess
from collections.abc import Callable, Iterator
from types import CodeType, FunctionType, ModuleType
from typing import Any

import pytest
import scrapy.crawler

from dedup.workers import WorkerPool

_STARTERS = (
    subprocess,
    multiprocessing,
    os.fork,
    socket.socketpair,
    concurrent.futures.ProcessPoolExecutor,
    scrapy.crawler.AsyncCrawlerRunner,
    WorkerPool,
)
_OURS = ("tests.", "benchmarks.")
_SERVERS = ("postgresql", "postgresql_server", "postgresql_url")


def is_slow(item: pytest.Function) -> bool:
    """Say whether a test, its fixtures, or what these call in modules of tests and benchmarks, starts something."""
    parameters = item.callspec.params.values() if hasattr(item, "callspec") else ()
    if any(name in _SERVERS for name in (*item.fixturenames, *(each for each in parameters if isinstance(each, str)))):
        return True
    fixtures = (each for name in item.fixturenames for each in item._fixtureinfo.name2fixturedefs.get(name, ()))
    return _starts(item.function, set()) or any(_starts(each.func, set()) for each in fixtures)


def _starts(function: Any, seen: set[int]) -> bool:
    function = getattr(getattr(function, "hypothesis", None), "inner_test", function)
    if not isinstance(function, FunctionType) or id(function) in seen or not function.__module__.startswith(_OURS):
        return False
    seen.add(id(function))
    names = set(_names(function.__code__))
    for value in map(function.__globals__.get, names):
        if any(value is each for each in _STARTERS):
            return True
        used = [getattr(value, name, None) for name in names] if isinstance(value, ModuleType) else [value]
        if any(_starts(each, seen) for part in used for each in _functions_of(part)):
            return True
    return False


def _names(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for each in code.co_consts:
        if isinstance(each, CodeType):
            yield from _names(each)


def _functions_of(value: Any) -> list[Callable[..., Any]]:
    if not isinstance(value, type):
        return [getattr(value, "__wrapped__", value)]
    methods = [getattr(each, "__func__", each) for parent in value.__mro__ for each in vars(parent).values()]
    return [getattr(each, "fget", None) or each for each in methods]
