"""What docker-compose.yml says. No engine runs here, so its interpolation is done as the specification has it:
docs.docker.com/reference/compose-file/interpolation. Redis is the real one, started as the file says.
"""

import re
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
import redis
import yaml

from agentsite.environment import env
from tests.server import ROOT
from tests.waiting import until

TEXT = (ROOT / "docker-compose.yml").read_text()
_VARIABLE = re.compile(r"\$\{(\w+)(?::([-?])([^}]*))?\}")
SECRETS = ("POSTGRES_PASSWORD", "REDIS_PASSWORD", "SECRET_KEY", "FIELD_ENCRYPTION_KEY")


def composed(variables: dict[str, str]) -> Any:
    """The file as the engine reads it. Raises KeyError where a required variable is not set."""

    def value(found: re.Match[str]) -> str:
        name, kind, words = found.groups()
        if variables.get(name):
            return variables[name]
        if kind == "?":
            raise KeyError(name)
        return words or ""

    return yaml.safe_load(_VARIABLE.sub(value, TEXT))


@pytest.fixture(scope="module")
def keys() -> dict[str, str]:
    """What `make keys` prints, with no installation before it."""
    command = ["make", "--silent", "keys", "-o", ".venv/base.stamp", f"PY={sys.executable}"]
    printed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return dict(line.split("=", 1) for line in printed.splitlines())


def test_make_keys_is_enough_and_makes_other_ones_each_time(keys: dict[str, str]) -> None:
    assert set(keys) == set(SECRETS)
    assert len(set(keys.values())) == len(SECRETS)
    assert min(map(len, keys.values())) > 40
    assert composed(keys)


@pytest.mark.parametrize("name", SECRETS)
def test_nothing_starts_without_a_secret(name: str, keys: dict[str, str]) -> None:
    with pytest.raises(KeyError, match=name):
        composed(keys | {name: ""})
    assert not re.search(rf"\$\{{{name}(?!:\?)", TEXT), "somewhere it may be left out"


def test_the_addresses_have_the_passwords_of_the_services(keys: dict[str, str]) -> None:
    services = composed(keys)["services"]
    for name in ("web", "worker"):
        environment = services[name]["environment"]
        database = env.db_url_config(environment["DATABASE_URL"])
        assert database["PASSWORD"] == services["postgres"]["environment"]["POSTGRES_PASSWORD"]
        assert (database["PASSWORD"], database["HOST"]) == (keys["POSTGRES_PASSWORD"], "postgres")
        assert redis.Redis.from_url(environment["REDIS_URL"]).get_connection_kwargs()["password"]
    assert not {"ports"} & {*services["postgres"], *services["redis"]}, "only the web is reached from outside"


@pytest.fixture
def redis_server(keys: dict[str, str]) -> Iterator[tuple[int, Any]]:
    """The port of one that was started as the file says, and its service."""
    service = composed(keys)["services"]["redis"]
    if not shutil.which("redis-server"):
        pytest.skip("no redis-server here")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [*service["command"], "--port", str(port), "--bind", "127.0.0.1"]
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    yield port, service
    server.kill()
    server.wait()


def test_redis_answers_nobody_without_the_password(redis_server: tuple[int, Any], keys: dict[str, str]) -> None:
    port, service = redis_server
    address = composed(keys)["services"]["worker"]["environment"]["REDIS_URL"]
    known = redis.Redis.from_url(address.replace("@redis:6379", f"@127.0.0.1:{port}"))
    until(lambda: _answers(known))
    with pytest.raises(redis.AuthenticationError):
        redis.Redis(port=port).ping()
    kind, check = service["healthcheck"]["test"]
    assert kind == "CMD-SHELL"
    for environment, healthy in ((service["environment"], True), ({}, False)):
        check_here = check.replace("redis-cli", f"redis-cli -p {port}")
        ended = subprocess.run(check_here, shell=True, env={"PATH": "/usr/bin:/bin", **environment}, check=False)
        assert (ended.returncode == 0) is healthy


def _answers(server: redis.Redis) -> bool:
    try:
        return bool(server.ping())
    except redis.ConnectionError:
        return False


def test_only_the_workers_have_what_bubblewrap_needs_and_say_why(keys: dict[str, str]) -> None:
    for name, service in composed(keys)["services"].items():
        loose = {option for option in service.get("security_opt", []) if "unconfined" in option}
        needed = {"seccomp=unconfined", "apparmor=unconfined", "systempaths=unconfined"}
        assert loose == (needed if name == "worker" else set()), name
    why, option = re.findall(r"((?: +#.*\n)+) +(security_opt: .*unconfined.*)", TEXT)[0]
    assert option.count("unconfined") == TEXT.count("unconfined") == 3
    assert all(word in why for word in ("seccomp", "AppArmor", "/proc"))


@pytest.mark.parametrize("name", ["web", "worker"])
def test_the_application_has_no_rights_to_give_away(name: str, keys: dict[str, str]) -> None:
    service = composed(keys)["services"][name]
    assert service["cap_drop"] == ["ALL"]
    assert "no-new-privileges:true" in service["security_opt"]
    assert not {"privileged", "cap_add", "network_mode", "pid"} & set(service)
