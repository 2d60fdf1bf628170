"""One server for the tests that only talk to it; a server of their own for those that kill it."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.server import Server

CONFIG = """
providers:
  - {name: scripted, protocol: scripted}
models:
  - {name: script, providers: [{provider: scripted, model: script}]}
  - {name: tour, providers: [{provider: scripted, model: demo}]}
"""


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    running = configured(tmp_path_factory.mktemp("server")).start()
    yield running
    running.stop()


@pytest.fixture
def own_server(tmp_path: Path) -> Iterator[Server]:
    running = configured(tmp_path).start()
    yield running
    running.kill()


@pytest.fixture
def new_server(tmp_path: Path) -> Iterator[Callable[..., Server]]:
    """Servers that are not started yet."""
    made: list[Server] = []

    def make(**environment: str) -> Server:
        made.append(Server(tmp_path / f"var{len(made)}", **environment))
        return made[-1]

    yield make
    for server in made:
        server.kill()


def configured(folder: Path) -> Server:
    config = folder / "agentsite.yml"
    config.write_text(CONFIG)
    return Server(folder / "var", AGENTSITE_CONFIG=str(config))
