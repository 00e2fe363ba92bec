"""Fixtures of tests over files."""

from tests.s3_server import running, server  # noqa: F401
