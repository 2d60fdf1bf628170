"""Tests of the example in `docs/extending.md`, "Write a protocol", installed as a distribution by a folder
on the path.
"""

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from django.test import Client

from agentsite.configuration import ConfigurationError, load
from llm_app import protocols
from llm_app.models import LLMLog, Provider
from tasks_app import services
from tasks_app.replay import verification
from tests import factories
from tests.provider import FakeProvider, Reply, openai_result, running
from tests.tasks_app.engine.conftest import Run

FOLDER = Path(__file__).with_name("protocol")
Install = Callable[..., None]


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Install]:
    """Put a folder on the path, or create one with these entry points."""

    def put(folder: Path = tmp_path, **points: str) -> None:
        if points:
            information = folder / "plugin-1.0.dist-info"
            information.mkdir()
            (information / "METADATA").write_text("Metadata-Version: 2.1\nName: plugin\nVersion: 1.0\n")
            lines = [f"{name} = {target}\n" for name, target in points.items()]
            (information / "entry_points.txt").write_text("".join([f"[{protocols.ENTRY_POINT_GROUP}]\n", *lines]))
        monkeypatch.syspath_prepend(folder)
        protocols.plugins.cache_clear()

    yield put
    sys.modules.pop("ollama_chat", None)
    protocols.plugins.cache_clear()


@pytest.fixture
def ollama() -> Iterator[FakeProvider]:
    with running() as server:
        yield server


@pytest.fixture
def ask(transactional_db: None, ollama: FakeProvider) -> Callable[..., Run]:
    """Start a task whose model has routes to providers of these protocols, in order."""

    def start(*names: str) -> Run:
        model = factories.LogicalModelFactory()
        for priority, name in enumerate(names, 1):
            row = factories.ProviderFactory(protocol=name, base_url=ollama.base_url, timeout_s=5)
            factories.RouteFactory(model=model, provider=row, provider_model="qwen3", priority=priority)
        session = factories.SessionFactory(model=model)
        return Run(services.post_message(session, session.owner, "Go.").task)

    return start


def answer(name: str, **arguments: object) -> Reply:
    """Return a call in Ollama's form."""
    calls = [{"function": {"name": name, "arguments": arguments}}]
    message = {"role": "assistant", "content": "", "thinking": "Hm.", "tool_calls": calls}
    whole = {"message": message, "done": True, "done_reason": "stop", "prompt_eval_count": 100, "eval_count": 10}
    return Reply(chunks=[json.dumps(whole).encode()], content_type="application/json")


def test_a_task_runs_through_the_protocol_of_a_plugin(install, ask, ollama):
    install(FOLDER)
    ollama.replies = [
        answer("file", action="write", path="notes.txt", content="hello"),
        answer("message", type="result", text="I wrote it."),
    ]
    task = ask("ollama_chat").advance()
    assert (task.failure_detail, task.final_result["text"]) == ("", "I wrote it.")
    assert task.usage == {"input_tokens": 200, "cached_tokens": 0, "output_tokens": 20, "thinking_tokens": 0}
    first, second = ollama.received
    assert first.path == "/v1/api/chat"
    assert {tool["function"]["name"] for tool in first.body["tools"]} >= {"message", "file"}
    assert [message["role"] for message in second.body["messages"]] == ["system", "user", "user", "assistant", "tool"]
    assert second.body["messages"][3]["tool_calls"][0]["function"]["arguments"]["path"] == "notes.txt"
    logs = LLMLog.objects.filter(session_id=task.session_id, purpose="step")
    assert {(log.adapter, log.adapter_version) for log in logs} == {("ollama_chat", 1)}
    assert verification.of_session(task.session, logs).mismatches == []


def test_next_route_answers_without_the_plugin(ask, ollama):
    ollama.replies = [openai_result("Here.")]
    assert ask("ollama_chat", "openai_native").advance().final_result["text"] == "Here."
    task = ask("ollama_chat").advance()
    assert (task.state, task.failure_code) == ("failed", "provider_unavailable")


def test_admin_offers_the_protocol_and_keeps_uninstalled_ones(install, admin_client: Client):
    row = Provider.objects.create(name="mine", protocol="ollama_chat", base_url="http://127.0.0.1:11434")
    page = f"/admin/llm_app/provider/{row.pk}/change/"
    assert "ollama_chat (not installed)" in admin_client.get(page).content.decode()
    assert "ollama_chat (not installed)" in admin_client.get("/admin/llm_app/provider/").content.decode()
    install(FOLDER)
    assert "Ollama&#x27;s own chat API" in admin_client.get(page).content.decode()
    fields = {
        "timeout_s": 20,
        "total_timeout_s": 60,
        "breaker": "{}",
        "enabled": "on",
        "base_url": "http://127.0.0.1:11434",
    }
    inlines = ("breaker_changes", "learned_quirks")
    history = {f"{name}-{kind}_FORMS": 0 for name in inlines for kind in ("TOTAL", "INITIAL")}
    add = {"name": "new", "protocol": "ollama_chat", **fields, **history}
    assert admin_client.post("/admin/llm_app/provider/add/", add).status_code == 302
    wrong = admin_client.post("/admin/llm_app/provider/add/", add | {"name": "other", "protocol": "telepathy"})
    assert "telepathy is not one of the available choices" in wrong.content.decode()
    assert set(Provider.objects.values_list("name", "protocol")) == {("mine", "ollama_chat"), ("new", "ollama_chat")}


@pytest.mark.django_db
def test_configuration_file_accepts_the_protocol(install, tmp_path: Path):
    file = tmp_path / "agentsite.yml"
    file.write_text("providers:\n  - {name: mine, protocol: ollama_chat, base_url: 'http://127.0.0.1:11434'}\n")
    with pytest.raises(ConfigurationError, match="protocol: should be one of openai_native, "):
        load(file, {})
    install(FOLDER)
    assert load(file, {}).configuration.providers[0].protocol == "ollama_chat"


@pytest.mark.parametrize(
    ("name", "target", "fault"),
    [
        ("openai_native", "ollama_chat:OllamaChat", "there is a protocol of this name already"),
        ("another_name", "ollama_chat:OllamaChat", "another name: ollama_chat"),
        ("far_too_long_for_a_name", "ollama_chat:OllamaChat", "more than 20 characters"),
        ("broken", "there_is_no_such_module:Adapter", "No module named"),
        ("no_adapter", "collections:OrderedDict", "not a subclass of llm_app.adapters.base.Adapter"),
    ],
)
def test_unusable_plugins_are_reported_and_harmless(install, monkeypatch, name, target, fault):
    built_in = dict(protocols.adapters())
    monkeypatch.syspath_prepend(FOLDER)
    install(**{name: target})
    assert dict(protocols.adapters()) == built_in | {"ollama_chat": protocols.adapter_for("ollama_chat")}
    assert fault in protocols.plugins().faults[name]


def test_document_shows_the_example_verbatim():
    page = (FOLDER.parents[2] / "docs" / "extending.md").read_text()
    for file in ("ollama_chat.py", "ollama_chat-1.0.dist-info/entry_points.txt"):
        assert (FOLDER / file).read_text() in page
