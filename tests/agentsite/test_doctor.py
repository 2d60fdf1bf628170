"""The doctor, which reports problems and their solutions to people and programs."""

import ast
import json
from contextlib import suppress
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from cryptography.fernet import Fernet
from django.core.management import call_command
from django.core.management.base import SystemCheckError
from django.db import connection
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from pytest_django.plugin import DjangoDbBlocker

from agentsite.checks import infrastructure, machine
from agentsite.checks.messages import status_of
from agentsite.environment import VAR_DIR
from agentsite.serving.server_lock import ServerLock
from llm_app import protocols
from llm_app.breaker import changes
from llm_app.models import BreakerState, Budget, LLMLog, LogicalModel, Provider
from tasks_app.models import EngineProcess
from tests import factories
from tests.provider import FakeProvider, Reply, openai_call
from tests.server import ROOT, free_port
from tools_app.models import McpServer, McpTool

pytestmark = pytest.mark.django_db


@pytest.fixture
def model() -> Any:
    """A default model, without which the report would have an error."""
    return factories.RouteFactory(model__is_default=True).model


@pytest.fixture
def main(model: Any, main: Provider) -> Provider:
    """A provider in addition to the default model's."""
    return main


def doctor() -> dict[str, Any]:
    """Return the report by name of the check, and whether all is well."""
    out = StringIO()
    try:
        call_command("doctor", "--json", stdout=out)
        status = 0
    except SystemExit as end:
        status = end.code
    report = json.loads(out.getvalue())
    assert report["ok"] == (status == 0)
    return {"ok": report["ok"]} | {check["name"]: check for check in report["checks"]}


def test_dollar_limit_without_prices_is_a_note(model: Any) -> None:
    assert doctor()["prices"]["status"] == "ok"
    Budget.objects.create(usd_per_day=5)
    found = doctor()["prices"]
    assert found["status"] == "note"
    assert "limits in US dollars never stop these calls" in found["sentence"]
    model.routes.update(price={"input": 1, "output": 2})
    assert doctor()["prices"]["status"] == "ok"


def test_first_page_of_the_admin_shows_a_failing_provider(model: Any, admin_client: Client) -> None:
    route = model.routes.get()
    route.provider.protocol = "openai_native"
    route.provider.save()
    model.routes.update(works=True, verdict="It works (12 ms).", tested_at=timezone.now())
    assert "Its last call failed" not in admin_client.get("/admin/").content.decode()
    refusal = {"status": "failed", "error_type": "AuthenticationFailed", "error": "HTTP 401: no"}
    factories.log(provider=route.provider.name, provider_model=route.provider_model, **refusal)
    page = admin_client.get("/admin/").content.decode()
    assert f"provider {route.provider.name}" in page
    assert "Its last call failed." in page


def test_working_installation_is_ok(model: Any) -> None:
    report = doctor()
    assert [check["sentence"] for name, check in report.items() if name != "ok" and check["status"] == "broken"] == []
    assert report["ok"]
    journal = ["journal"] if connection.vendor == "sqlite" else []
    for name in ("database", "migrations", *journal, "broker", "channel layer", "model", "disk", "settings"):
        assert report[name]["status"] == "ok", report[name]
    assert report["sandbox"]["status"] in ("ok", "note")


def test_report_is_readable_in_a_terminal(model: Any) -> None:
    out = StringIO()
    with suppress(SystemExit):
        call_command("doctor", stdout=out, no_color=True)
    assert f"ok      database: {connection.display_name} answers.\n" in out.getvalue()
    assert "note    worker: The server is not running.\n        → Start it with: make run\n" in out.getvalue()


def test_default_model_without_a_route_exits_with_status_1() -> None:
    with pytest.raises(SystemExit) as end:
        call_command("doctor", stdout=StringIO())
    assert end.value.code == 1


@pytest.mark.sqlite
def test_many_users_on_sqlite_are_a_note_about_postgresql(model: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    tasks = [factories.TaskFactory() for _ in range(5)]
    assert "5 people have worked with it in the last week" in doctor()["size"]["sentence"]
    tasks[0].delete()
    assert "size" not in doctor()
    monkeypatch.setattr(infrastructure, "_LARGE_BYTES", 1000)
    assert "Move to PostgreSQL" in doctor()["size"]["mend"]


def test_silent_worker_is_broken(model: Any) -> None:
    lock = ServerLock("http://127.0.0.1:1")
    assert doctor()["worker"]["status"] == "broken"
    EngineProcess.objects.beat("another-host:1")
    assert doctor()["worker"]["status"] == "ok"
    del lock


def test_provider_is_tested_with_a_short_request(main: Provider, server: FakeProvider) -> None:
    report = doctor()
    assert report["provider main"]["status"] == "ok"
    assert report["provider main"]["sentence"].startswith("fast-1: It works (")
    (received,) = server.received
    assert len(received.raw) < 1_000
    assert LLMLog.objects.get().purpose == "test"


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        (Reply(status=401, chunks=[b"Incorrect key sk-very-secret"]), "fast-1: The key is wrong (HTTP 401)."),
        (
            Reply(status=400, chunks=[b"'max_tokens' is not supported"]),
            "fast-1: It refuses the request (HTTP 400). It says: “'max_tokens' is not supported”",
        ),
        (Reply(chunks=[b"<html>It works!</html>"], content_type="text/html"), "not in the protocol openai_native"),
        (Reply(chunks=[], stall_at=0), "fast-1: It sent nothing for too long."),
    ],
    ids=["401", "400", "html", "silence"],
)
def test_reachable_provider_without_an_answer_is_broken(
    reply: Reply, words: str, main: Provider, server: FakeProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("llm_app.connection_test.SILENCE_S", 0.5)
    server.replies = [reply]
    report = doctor()
    assert report["provider main"]["status"] == "broken"
    assert words in report["provider main"]["sentence"]
    assert report["provider main"]["mend"]
    assert "sk-very-secret" not in str(report)


def test_untested_provider_is_not_reported_as_answering(main: Provider, server: FakeProvider) -> None:
    main.routes.update(model=factories.LogicalModelFactory(kind="image"))  # a picture is expensive
    server.replies = [Reply(status=500)]
    Provider.objects.create(name="unused", protocol="openai_native", base_url=server.base_url)
    report = doctor()
    for name in ("main", "unused"):
        assert report[f"provider {name}"]["status"] == "note"
        assert "was not asked" in report[f"provider {name}"]["sentence"]
    assert "answers" not in report["model"]["sentence"]
    assert server.received == []


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"base_url": "http://127.0.0.1:PORT"}, "There is no answer at http://127.0.0.1:PORT"),
        ({"base_url": "http://no-such-host.invalid"}, "The host no-such-host.invalid is not known."),
        ({"base_url": ""}, "The address is not valid"),
        ({"protocol": "anthropic_native", "base_url": "http://127.0.0.1:99999"}, "The address is not valid"),
    ],
)
def test_unreachable_provider_is_broken(fields: dict[str, str], words: str, main: Provider) -> None:
    port = str(free_port())
    Provider.objects.filter(pk=main.pk).update(**{name: value.replace("PORT", port) for name, value in fields.items()})
    found = doctor()["provider main"]
    assert found["status"] == "broken"
    assert words.replace("PORT", port) in found["sentence"]
    assert found["mend"]


def test_disabled_provider_is_skipped(model: Any) -> None:
    Provider.objects.create(name="main", protocol="openai_native", base_url="http://127.0.0.1:1", enabled=False)
    assert "provider main" not in doctor()


def test_open_breaker_is_reported_with_its_reason(model: Any, browser: Client) -> None:
    assert "breaker" not in str(doctor().keys())
    provider = Provider.objects.get()
    changes.open_breaker(changes.breaker_of(provider), "5 of its last 5 calls failed.")
    found = doctor()[f"breaker {provider}"]
    assert (found["status"], "5 of its last 5 calls failed." in found["sentence"]) == ("broken", True)
    assert "5 of its last 5 calls failed." in browser.get("/admin/").content.decode()


def test_rejected_key_is_broken(model: Any) -> None:
    provider = Provider.objects.get()
    changes.open_breaker(changes.breaker_of(provider), "It does not accept its key.", key_refused=True)
    assert doctor()[f"breaker {provider}"]["mend"] == "Set the right key in the admin."


@pytest.mark.parametrize(
    ("state", "words"), [(BreakerState.OPEN, "forced open"), (BreakerState.CLOSED, "forced closed")]
)
def test_forced_breaker_is_a_note(state: BreakerState, words: str, model: Any, root: Any) -> None:
    provider = Provider.objects.get()
    changes.force(provider, state, root)
    found = doctor()[f"breaker {provider}"]
    assert (found["status"], words in found["sentence"]) == ("note", True)
    changes.reset(provider, root)
    assert f"breaker {provider}" not in doctor()


def test_undecryptable_keys_are_broken(model: Any, settings: Any) -> None:
    Provider.objects.create(name="main", protocol="openai_native", base_url="http://127.0.0.1:1", api_key="sk")
    settings.FIELD_ENCRYPTION_KEY = Fernet.generate_key().decode()
    found = doctor()["providers"]
    assert found["status"] == "broken"
    assert "FIELD_ENCRYPTION_KEY" in found["sentence"]


def test_key_files_readable_by_others_are_broken(model: Any) -> None:
    key = VAR_DIR / "keys" / "secret_key"
    key.chmod(0o644)
    try:
        found = doctor()["keys"]
    finally:
        key.chmod(0o600)
    assert found["status"] == "broken"
    assert str(key) in found["sentence"]


@pytest.mark.parametrize(("name", "value"), [("DEBUG", True), ("SECRET_KEY", "short"), ("ALLOWED_HOSTS", ["*"])])
def test_dangerous_setting_is_broken(name: str, value: Any, model: Any, settings: Any) -> None:
    setattr(settings, name, value)
    found = doctor()["settings"]
    assert found["status"] == "broken"
    assert name in found["sentence"]


def test_missing_tables_are_reported_before_they_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    from django.db.migrations.executor import MigrationExecutor

    monkeypatch.setattr(MigrationExecutor, "migration_plan", lambda *_: [("one", False)])
    report = doctor()
    assert report["migrations"]["mend"] == "Run: manage.py migrate"
    assert not {"worker", "model", "sandbox"} & report.keys()


@pytest.mark.parametrize(("name", "status"), [("Remarks", "ok"), ("Forgotten", "broken")])
def test_hooks_are_listed_and_an_unloadable_one_is_broken(name: str, status: str, model: Any, settings: Any) -> None:
    assert "hooks" not in doctor()
    settings.HOOKS = [f"tests.tasks_app.engine.plugins.{name}"]
    finding = doctor()["hooks"]
    assert finding["status"] == status
    assert name.lower() in finding["sentence"].lower()


def test_unloadable_protocol_is_reported_with_its_reason(model: Any, monkeypatch: Any) -> None:
    found = protocols.Plugins(adapters={}, faults={"theirs": "ModuleNotFoundError: No module named 'theirs'"})
    monkeypatch.setattr(protocols, "plugins", lambda: found)
    finding = doctor()["protocol theirs"]
    assert finding["status"] == "broken"
    assert "No module named 'theirs'" in finding["sentence"]


def test_rejected_skill_is_reported_by_doctor_and_the_admin(
    model: Any, settings: Any, tmp_path: Path, browser: Client
) -> None:
    settings.SKILLS_DIR = tmp_path
    for name, text in (("folding", "no front matter"), ("long", f"---\nname: long\ndescription: {'x' * 1500}\n---\ny")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "SKILL.md").write_text(text)
    report = doctor()
    assert "begins with front matter" in report["skill folding"]["sentence"]
    assert str(tmp_path / "folding" / "SKILL.md") in report["skill folding"]["sentence"]
    assert report["skill long"]["status"] == "note"
    for address in ("admin:index", "admin:tools_app_skill_changelist"):
        assert "begins with front matter" in browser.get(reverse(address)).content.decode()


def test_failing_mcp_server_and_unconfirmed_tools_are_reported(model: Any) -> None:
    McpServer.objects.create(name="down", transport="stdio", command=["x"], fault="It ended without an answer.")
    McpServer.objects.create(name="off", transport="stdio", command=["x"], fault="It is off.", enabled=False)
    changed = McpServer.objects.create(name="changed", transport="stdio", command=["x"])
    McpTool.objects.create(server=changed, name="add", schema="{}", digest="new", confirmed="old")
    McpServer.objects.create(
        name="odd", transport="stdio", command=["x"], skipped={"out": "It is odd.", "in": "It is new."}
    )
    report = doctor()
    assert report["MCP server down"]["sentence"] == "It ended without an answer."
    assert report["tools of the MCP server odd"]["sentence"] == "Some are skipped. out: It is odd. in: It is new."
    assert report["MCP server changed"]["mend"] == "Confirm them in the admin."
    assert "MCP server off" not in report
    assert not report["ok"]


def check(*options: str) -> str:
    """Return the output of `manage.py check`."""
    err = StringIO()
    with suppress(SystemExit, SystemCheckError):
        call_command("check", *options, stdout=err, stderr=err, fail_level="CRITICAL", no_color=True)
    return err.getvalue()


def test_doctor_and_djangos_check_agree(model: Any) -> None:
    Provider.objects.create(name="unused", protocol="openai_native", base_url="http://127.0.0.1:1")
    said = check("--tag", "agentsite", "--deploy", "--database", "default")
    problems = [finding for name, finding in doctor().items() if name != "ok" and finding["status"] != "ok"]
    assert problems
    for finding in problems:
        assert f"{finding['name']}: ({finding['id']}) {finding['sentence']}" in said
        assert finding["mend"] in said
    assert said.count("agentsite.") == len(problems)


def test_plain_check_uses_no_database_and_no_network(
    django_db_blocker: DjangoDbBlocker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("socket.socket.connect", lambda *_: pytest.fail("a call to another server"))
    with django_db_blocker.block():
        assert "no issues" in check()


def test_message_numbers_are_unique() -> None:
    calls = [
        node
        for file in (ROOT / "agentsite" / "checks").glob("*.py")
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("note", "broken")
    ]
    numbers = [node.args[0].value for node in calls if isinstance(node.args[0], ast.Constant)]
    assert len(numbers) == len(calls) > 20
    assert sorted(numbers) == sorted(set(numbers))


def test_silenced_checks_are_hidden(model: Any, settings: Any) -> None:
    settings.SILENCED_SYSTEM_CHECKS = [doctor()["worker"]["id"]]
    assert "worker" not in doctor()


def test_default_model_is_judged_by_its_newest_test(main: Provider, server: FakeProvider) -> None:
    LogicalModel.objects.update(is_default=False)
    LogicalModel.objects.filter(pk=main.routes.get().model_id).update(is_default=True)
    server.replies = [Reply(status=401), openai_call("message", {"text": "ok"})]
    report = doctor()
    assert report["model"]["status"] == "broken"
    assert "The key is wrong (HTTP 401)." in report["model"]["sentence"]
    assert doctor()["model"]["status"] == "ok"


@pytest.mark.parametrize(("setting", "says"), [("0", "ok"), ("1", "note"), ("/nowhere", "note"), ("/usr", "ok")])
def test_packages_of_commands_are_reported(setting, says, settings, monkeypatch, tmp_path):
    monkeypatch.setattr(machine, "VAR_DIR", tmp_path)
    settings.WORKSHOP = setting
    assert status_of(machine.packages_are_installed()) == says


def test_listening_to_others_without_a_host_name_is_a_note(
    model: Any, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOST", "0.0.0.0")  # noqa: S104
    assert "answers only to 127.0.0.1 and localhost" in doctor()["settings"]["sentence"]
    settings.HOSTS_OF_OTHERS = ["agents.example.org"]
    assert doctor()["settings"]["status"] == "ok"


def test_https_address_without_a_trusted_proxy_is_a_note(model: Any, settings: Any) -> None:
    settings.AGENTSITE_URL = "https://agents.example.org"
    found = doctor()["settings"]
    assert (found["status"], "TRUSTED_PROXIES" in found["mend"]) == ("note", True)
