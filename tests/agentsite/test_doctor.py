"""The doctor says what is wrong and how to mend it, for people and for programs."""

import json
import socket
from collections.abc import Iterator
from contextlib import suppress
from io import StringIO
from typing import Any

import pytest
from cryptography.fernet import Fernet
from django.core.management import call_command
from django.test import Client

from agentsite.environment import VAR_DIR
from agentsite.serving.server_lock import ServerLock
from llm_app.breaker import changes
from llm_app.breaker.decisions import State
from llm_app.models import Provider
from tasks_app.models import EngineProcess
from tests import factories
from tests.server import free_port
from tools_app.models import McpServer, McpTool

pytestmark = pytest.mark.django_db


@pytest.fixture
def model() -> Any:
    """A default model, so that nothing is broken."""
    return factories.RouteFactory(model__is_default=True).model


@pytest.fixture
def listening() -> Iterator[int]:
    """A port at which somebody listens."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


def doctor() -> dict[str, Any]:
    """The report by name of the check, and whether all is well."""
    out = StringIO()
    try:
        call_command("doctor", "--json", stdout=out)
        status = 0
    except SystemExit as end:
        status = end.code
    report = json.loads(out.getvalue())
    assert report["ok"] == (status == 0)
    return {"ok": report["ok"]} | {check["name"]: check for check in report["checks"]}


def test_an_installation_that_works_is_well(model: Any) -> None:
    report = doctor()
    assert [check["sentence"] for name, check in report.items() if name != "ok" and check["status"] == "broken"] == []
    assert report["ok"]
    for name in ("database", "migrations", "journal", "broker", "channel layer", "model", "disk", "settings"):
        assert report[name]["status"] == "ok", report[name]
    assert report["sandbox"]["status"] in ("ok", "note")


def test_it_is_readable_in_a_terminal(model: Any) -> None:
    out = StringIO()
    with suppress(SystemExit):
        call_command("doctor", stdout=out, no_color=True)
    assert "ok      database: SQLite answers.\n" in out.getvalue()
    assert "note    worker: The server is not running.\n        → Start it with: make run\n" in out.getvalue()


def test_without_a_route_of_the_default_model_the_exit_status_is_1() -> None:
    with pytest.raises(SystemExit) as end:
        call_command("doctor", stdout=StringIO())
    assert end.value.code == 1


def test_a_server_whose_worker_is_silent_is_broken(model: Any) -> None:
    lock = ServerLock("http://127.0.0.1:1")
    assert doctor()["worker"]["status"] == "broken"
    EngineProcess.objects.beat("another-host:1")
    assert doctor()["worker"]["status"] == "ok"
    del lock


@pytest.mark.parametrize(("key", "status"), [("sk-very-secret", "ok"), ("", "note")])
def test_a_provider_within_reach(key: str, status: str, model: Any, listening: int) -> None:
    Provider.objects.create(
        name="main", protocol="openai_native", base_url=f"http://127.0.0.1:{listening}/v1", api_key=key
    )
    report = doctor()
    assert report["provider main"]["status"] == status
    assert "sk-very-secret" not in str(report)


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"protocol": "openai_native", "base_url": "http://127.0.0.1:PORT"}, "127.0.0.1:PORT cannot be reached"),
        ({"protocol": "openai_native", "base_url": "http://no-such-host.invalid"}, "no-such-host.invalid:80 cannot be"),
        ({"protocol": "openai_native"}, "It has no address."),
        ({"protocol": "anthropic_native", "base_url": "http://127.0.0.1:99999"}, "Its address is not valid."),
    ],
)
def test_a_provider_out_of_reach_is_broken(fields: dict[str, str], words: str, model: Any) -> None:
    port = str(free_port())
    Provider.objects.create(name="main", **{name: value.replace("PORT", port) for name, value in fields.items()})
    found = doctor()["provider main"]
    assert found["status"] == "broken"
    assert words.replace("PORT", port) in found["sentence"]
    assert found["mend"]


def test_a_provider_whose_address_litellm_knows_is_a_note(model: Any) -> None:
    Provider.objects.create(name="main", protocol="litellm", litellm_provider="gemini", api_key="sk")
    assert doctor()["provider main"]["status"] == "note"


def test_a_provider_that_is_switched_off_is_left_alone(model: Any) -> None:
    Provider.objects.create(name="main", protocol="openai_native", base_url="http://127.0.0.1:1", enabled=False)
    assert "provider main" not in doctor()


def test_a_breaker_that_keeps_calls_away_is_named_with_its_reason(model: Any, browser: Client) -> None:
    assert "breaker" not in str(doctor().keys())
    provider = Provider.objects.get()
    changes.open_(changes.current(provider), "5 of its last 5 calls failed.")
    found = doctor()[f"breaker {provider}"]
    assert (found["status"], "5 of its last 5 calls failed." in found["sentence"]) == ("broken", True)
    assert "5 of its last 5 calls failed." in browser.get("/admin/").content.decode()


def test_a_refused_key_is_for_the_administrator_to_mend(model: Any) -> None:
    provider = Provider.objects.get()
    changes.open_(changes.current(provider), "It does not accept its key.", key_refused=True)
    assert doctor()[f"breaker {provider}"]["mend"] == "Set the right key in the admin."


@pytest.mark.parametrize(("state", "words"), [(State.OPEN, "forced open"), (State.CLOSED, "forced closed")])
def test_a_breaker_that_somebody_forced_is_a_note(state: State, words: str, model: Any, root: Any) -> None:
    provider = Provider.objects.get()
    changes.force(provider, state, root)
    found = doctor()[f"breaker {provider}"]
    assert (found["status"], words in found["sentence"]) == ("note", True)
    changes.reset(provider, root)
    assert f"breaker {provider}" not in doctor()


def test_keys_that_cannot_be_decrypted_are_broken(model: Any, settings: Any) -> None:
    Provider.objects.create(name="main", protocol="openai_native", base_url="http://127.0.0.1:1", api_key="sk")
    settings.FIELD_ENCRYPTION_KEY = Fernet.generate_key().decode()
    found = doctor()["providers"]
    assert found["status"] == "broken"
    assert "FIELD_ENCRYPTION_KEY" in found["sentence"]


def test_keys_that_others_can_read_are_broken(model: Any) -> None:
    key = VAR_DIR / "keys" / "secret_key"
    key.chmod(0o644)
    try:
        found = doctor()["keys"]
    finally:
        key.chmod(0o600)
    assert found["status"] == "broken"
    assert str(key) in found["sentence"]


@pytest.mark.parametrize(("name", "value"), [("DEBUG", True), ("SECRET_KEY", "short"), ("ALLOWED_HOSTS", ["*"])])
def test_a_dangerous_setting_is_broken(name: str, value: Any, model: Any, settings: Any) -> None:
    setattr(settings, name, value)
    found = doctor()["settings"]
    assert found["status"] == "broken"
    assert name in found["sentence"]


def test_tables_that_are_missing_are_found_before_they_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    from django.db.migrations.executor import MigrationExecutor

    monkeypatch.setattr(MigrationExecutor, "migration_plan", lambda *_: [("one", False)])
    report = doctor()
    assert report["migrations"]["mend"] == "Run: manage.py migrate"
    assert not {"worker", "model", "sandbox"} & report.keys()


@pytest.mark.parametrize(("name", "status"), [("Remarks", "ok"), ("Forgotten", "broken")])
def test_hooks_are_named_and_one_that_cannot_be_loaded_is_broken(
    name: str, status: str, model: Any, settings: Any
) -> None:
    assert "hooks" not in doctor()
    settings.HOOKS = [f"tests.tasks_app.engine.plugins.{name}"]
    finding = doctor()["hooks"]
    assert finding["status"] == status
    assert name.lower() in finding["sentence"].lower()


def test_an_mcp_server_that_cannot_be_listed_is_named_and_held_tools_are(model: Any) -> None:
    McpServer.objects.create(name="down", transport="stdio", command=["x"], fault="It ended without an answer.")
    McpServer.objects.create(name="off", transport="stdio", command=["x"], fault="It is off.", enabled=False)
    changed = McpServer.objects.create(name="changed", transport="stdio", command=["x"])
    McpTool.objects.create(server=changed, name="add", schema="{}", digest="new", confirmed="old")
    report = doctor()
    assert report["MCP server down"]["sentence"] == "It ended without an answer."
    assert report["MCP server changed"]["mend"] == "Confirm them in the admin."
    assert "MCP server off" not in report
    assert not report["ok"]
