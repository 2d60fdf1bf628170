"""One server for all tests, which is restarted after a test that kills it."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.server import KEYS, Server, configured, migrated

CONFIG = """
providers:
  - {name: scripted, protocol: scripted}
  - {name: gone, protocol: openai_native, base_url: "http://127.0.0.1:9", api_key: wrong}
models:
  - {name: script, providers: [{provider: scripted, model: script}]}
  - {name: tour, providers: [{provider: scripted, model: demo}]}
  - {name: gone, providers: [{provider: gone, model: any}]}
"""


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    running = configured(tmp_path_factory.mktemp("server"), CONFIG).start()
    yield running
    running.stop()


@pytest.fixture
def mortal_server(server: Server) -> Iterator[Server]:
    """The same server, for a test that kills it."""
    yield server
    server.revive()


@pytest.fixture
def new_server(tmp_path: Path) -> Iterator[Callable[..., Server]]:
    """Return a function that creates unstarted servers with empty tables."""
    made: list[Server] = []

    def make(**environment: str) -> Server:
        var = Path(shutil.copytree(migrated(), tmp_path / f"var{len(made)}"))
        made.append(Server(var, **KEYS, **environment))
        return made[-1]

    yield make
    for server in made:
        server.kill()
