"""Where the demo site is served."""

from __future__ import annotations

import pytest

from crawler.demo import __main__ as demo
from crawler.demo.server import DemoServer


def test_it_is_said_that_the_usual_port_is_taken(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with DemoServer() as first:
        monkeypatch.setattr(demo, "USUAL_PORT", first.port)
        with demo.server_at_its_usual_address() as second:
            assert second.port != first.port
            assert capsys.readouterr().err == f"port {first.port} is taken, the demo site is at {second.url}/\n"
