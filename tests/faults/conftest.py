"""Fixtures with PostgreSQL, Redis and servers for this suite. Tests without the needed programs are skipped."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.faults import figures
from tests.faults.deployment import Embedded, Team
from tests.faults.servers import Postgres, Redis
from tests.server import KEYS, migrate

HERE = Path(__file__).parent
Start = Callable[..., Team]


QUICK = {f"test_{family}.py" for family in ("kill_embedded", "people", "poison", "providers")}  # one server each


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Deselect the long tests unless they are requested."""
    for item in items:
        if HERE in item.path.parents and item.path.name not in QUICK and not figures.WANTED:
            item.add_marker(pytest.mark.skip("run by: FAULTS_LONG=0 make faults, or make soak"))


@pytest.fixture(scope="session")
def postgres(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Postgres]:
    """A PostgreSQL server with a database `migrated`, the template of all others."""
    server = Postgres()
    try:
        server.start()
        server.execute("CREATE DATABASE migrated")
        migrate(DATABASE_URL=server.url("migrated"), AGENTSITE_VAR=str(tmp_path_factory.mktemp("migrated")), **KEYS)
        yield server
    finally:
        server.remove()


@pytest.fixture
def team(postgres: Postgres, tmp_path: Path) -> Iterator[Start]:
    """Return a function that starts a team with a number of workers, a new database and a Redis server."""
    running: list[Team] = []
    redis = Redis(tmp_path)

    def start(workers: int = 2, **options: object) -> Team:
        name = f"team_{tmp_path.name.lower().replace('-', '_')}"
        postgres.execute(f'CREATE DATABASE "{name}" TEMPLATE migrated')
        redis.start()
        team = Team(tmp_path, postgres, name, redis, **options)  # type: ignore[arg-type]
        running.append(team)
        team.server.start()
        for _ in range(workers):
            team.start_worker()
        return team

    yield start
    with ExitStack() as all_of_them:
        all_of_them.callback(redis.kill)
        for team in running:
            all_of_them.callback(team.close)


@pytest.fixture
def embedded(tmp_path: Path) -> Iterator[Embedded]:
    deployment = Embedded(tmp_path)
    deployment.server.start()
    yield deployment
    deployment.close()
