"""The contents of docker-compose.yml, read as its specification says, without a container engine.

Redis and the proxy are started with the commands of the file. tests/team/test_compose_services.py does the same with
our services.
"""

import re
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from ipaddress import ip_address, ip_network
from pathlib import Path
from typing import Any

import pytest
import redis
import yaml

from agentsite import secret_files
from agentsite.environment import env
from tests.reverse_proxy import started_proxy
from tests.server import ROOT, free_port
from tests.waiting import until

TEXT = (ROOT / "docker-compose.yml").read_text()
OURS = ("web", "worker", "beat")
_VARIABLE = re.compile(r"\$\{\w+(?::-([^}]*))?\}")
# The keys of a service in github.com/compose-spec/compose-spec that ours use.
_KNOWN = {
    *(
        "build",
        "cap_drop",
        "command",
        "cpus",
        "depends_on",
        "entrypoint",
        "environment",
        "healthcheck",
        "image",
        "init",
    ),
    *("mem_limit", "networks", "pids_limit", "ports", "read_only", "restart", "secrets", "security_opt", "shm_size"),
    *("stop_grace_period", "tmpfs", "user", "volumes"),
}


def composed() -> Any:
    """Return the file as an engine reads it without variables."""
    return yaml.safe_load(_VARIABLE.sub(lambda found: found[1] or "", TEXT).replace("$$", "$"))


SERVICES: dict[str, Any] = composed()["services"]


@pytest.fixture
def keys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder that `make keys` creates."""
    monkeypatch.chdir(tmp_path)
    secret_files.main()
    return tmp_path / "secrets"


def test_compose_file_has_all_team_services_and_only_valid_keys() -> None:
    assert set(SERVICES) == {"proxy", "postgres", "redis", *OURS}
    for name, service in SERVICES.items():
        assert not set(service) - _KNOWN, name
    assert set(composed()) == {"x-app", "services", "networks", "volumes", "secrets"}
    named = {volume.split(":")[0] for service in SERVICES.values() for volume in service.get("volumes", ())}
    assert {name for name in named if not name.startswith("./")} == set(composed()["volumes"])


def test_make_keys_writes_each_secret_once(keys: Path) -> None:
    files = {name: secret["file"] for name, secret in composed()["secrets"].items()}
    assert files == {name: f"secrets/{name}" for name in files}
    assert {path.name for path in keys.iterdir()} == set(files)
    assert set(files) == {name for service in SERVICES.values() for name in service.get("secrets", ())}
    assert keys.stat().st_mode & 0o777 == 0o700
    assert {path.stat().st_mode & 0o777 for path in keys.iterdir()} == {0o644}
    values = {path.name: path.read_text() for path in keys.iterdir()}
    assert len(set(values.values())) == len(values) - 2  # the keys of providers, and the bucket, are empty
    (keys / "openai_api_key").write_text("sk-of-ours")
    (keys / "redis_url").unlink()
    made = f"PY=PYTHONPATH={ROOT} {sys.executable}"
    subprocess.run(["make", "--silent", "-f", ROOT / "Makefile", "keys", "-o", ".venv/base.stamp", made], check=True)
    again = {path.name: path.read_text() for path in keys.iterdir()}
    assert again == values | {"openai_api_key": "sk-of-ours"}


def test_addresses_contain_the_passwords_of_the_services(keys: Path) -> None:
    database = env.db_url_config((keys / "database_url").read_text())
    assert (database["PASSWORD"], database["HOST"]) == ((keys / "postgres_password").read_text(), "postgres")
    assert (database["USER"], database["NAME"]) == tuple(
        SERVICES["postgres"]["environment"][name] for name in ("POSTGRES_USER", "POSTGRES_DB")
    )
    password = redis.Redis.from_url((keys / "redis_url").read_text()).get_connection_kwargs()["password"]
    assert password == (keys / "redis_password").read_text()


@pytest.mark.parametrize("name", OURS)
def test_no_environment_contains_a_secret(name: str) -> None:
    service = SERVICES[name]
    files = {key: value for key, value in service["environment"].items() if key.endswith("_FILE")}
    assert {value.removeprefix("/run/secrets/") for value in files.values()} == set(service["secrets"])
    assert [key for key in service["environment"] if re.search("KEY$|PASSWORD$|_URL$", key)] == ["OPENAI_BASE_URL"]


@pytest.mark.parametrize("name", SERVICES)
def test_services_have_limits_health_checks_and_no_extra_privileges(name: str) -> None:
    service = SERVICES[name]
    assert service["cap_drop"] == ["ALL"]
    assert "no-new-privileges:true" in service["security_opt"]
    assert service["read_only"] is True
    assert {"mem_limit", "cpus", "pids_limit", "healthcheck", "restart"} <= set(service)
    assert not {"privileged", "cap_add", "network_mode", "pid"} & set(service)
    assert "ports" not in service or name == "proxy", "only the proxy is reached from outside"
    assert "user" in service or "USER agentsite" in (ROOT / "Dockerfile").read_text()


def test_only_workers_have_the_privileges_of_bubblewrap() -> None:
    for name, service in SERVICES.items():
        loose = {option for option in service["security_opt"] if "unconfined" in option}
        needed = {"seccomp=unconfined", "apparmor=unconfined", "systempaths=unconfined"}
        assert loose == (needed if name == "worker" else set()), name
    why, option = re.findall(r"((?: +#.*\n)+) +(security_opt: .*unconfined.*)", TEXT)[0]
    assert option.count("unconfined") == TEXT.count("unconfined") == 3
    assert all(word in why for word in ("seccomp", "AppArmor", "/proc"))


def test_only_the_proxy_can_have_its_address() -> None:
    (pool,) = composed()["networks"]["default"]["ipam"]["config"]
    proxy = ip_address(SERVICES["proxy"]["networks"]["default"]["ipv4_address"])
    assert proxy in ip_network(pool["subnet"])
    assert proxy not in ip_network(pool.get("ip_range", pool["subnet"])), "what starts before it takes it"
    assert {SERVICES[name]["environment"]["TRUSTED_PROXIES"] for name in OURS} == {str(proxy)}


@pytest.fixture
def redis_server(keys: Path) -> Iterator[int]:
    """The port of a Redis that was started with the command of the file."""
    if not shutil.which("redis-server"):
        pytest.skip("no redis-server here")
    port = free_port()
    (line,) = SERVICES["redis"]["command"]
    here = line.replace("/run/secrets", str(keys)).replace("\nEND", f"\nport {port}\nbind 127.0.0.1\nEND")
    server = subprocess.Popen([*SERVICES["redis"]["entrypoint"], here], stdout=subprocess.DEVNULL)
    yield port
    server.terminate()
    assert server.wait(30) == 0  # Redis gets the signal, not a shell


def test_redis_requires_its_password(redis_server: int, keys: Path) -> None:
    address = (keys / "redis_url").read_text()
    known = redis.Redis.from_url(address.replace("@redis:6379", f"@127.0.0.1:{redis_server}"))
    until(lambda: _answers(known))
    assert known.config_get("maxmemory-policy") == {"maxmemory-policy": "volatile-lru"}
    assert known.config_get("save") == {"save": ""}
    with pytest.raises(redis.AuthenticationError):
        redis.Redis(port=redis_server).ping()
    kind, check = SERVICES["redis"]["healthcheck"]["test"]
    assert kind == "CMD-SHELL"
    here = check.replace("redis-cli", f"redis-cli -p {redis_server}").replace("/run/secrets", str(keys))
    for password, is_healthy in (((keys / "redis_password").read_text(), True), ("wrong", False)):
        (keys / "redis_password").write_text(password)
        assert (subprocess.run(here, shell=True, check=False, capture_output=True).returncode == 0) is is_healthy


def _answers(server: redis.Redis) -> bool:
    try:
        return bool(server.ping())
    except redis.ConnectionError:
        return False


@pytest.fixture
def proxy(tmp_path: Path) -> Iterator[tuple[int, int]]:
    """The port of nginx with the file's configuration, and the port of the web behind it."""
    web = free_port()
    with started_proxy(tmp_path, web) as running:
        yield running.port, web


def test_proxy_passes_websockets_streams_and_client_addresses(proxy: tuple[int, int]) -> None:
    port, web = proxy
    with socket.create_server(("127.0.0.1", web)) as listening:
        asking = socket.create_connection(("127.0.0.1", port), timeout=30)
        head = "Host: team.example\r\nX-Forwarded-For: 9.9.9.9\r\nX-Forwarded-Proto: https\r\n"
        asking.sendall(f"GET /ws/ HTTP/1.1\r\n{head}Upgrade: websocket\r\nConnection: Upgrade\r\n\r\n".encode())
        answering = listening.accept()[0]
        seen = answering.recv(10_000).decode().lower()
        for line in ("host: team.example", "upgrade: websocket", "connection: upgrade", "x-forwarded-proto: http"):
            assert f"{line}\r\n" in seen
        assert "x-forwarded-for: 127.0.0.1\r\n" in seen
        answering.sendall(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\nfirst")
        until(lambda: asking.recv(10_000).endswith(b"first"))
        asking.sendall(b"second")
        assert answering.recv(100) == b"second"
