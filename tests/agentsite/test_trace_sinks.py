"""Trace sinks in the admin and in the configuration file, with write-only keys."""

import json

import pytest
from django.core.management import CommandError, call_command

from agentsite.configuration import ConfigurationError
from llm_app.models import ServiceKey
from tasks_app.models import TraceSink
from tests import factories
from tests.tasks_app.engine.conftest import result, script

ADD = "/admin/tasks_app/tracesink/add/"
SECRET = "sign-with-this"


def form(**fields):
    given = {"name": "hook", "kind": "http", "enabled": "on", "url": "https://example.org/events", "key": SECRET}
    return {**given, "events": "[]", "max_bytes": 50_000_000, **fields}


def test_admin_stores_the_key_and_never_shows_it(browser):
    assert browser.post(ADD, form()).status_code == 302
    sink = TraceSink.objects.get()
    assert ServiceKey.objects.get(name="trace.hook").value == SECRET
    TraceSink.objects.update(failures=3, last_error="The server answered 503: away")
    for page in ("/admin/tasks_app/tracesink/", f"/admin/tasks_app/tracesink/{sink.pk}/change/"):
        shown = browser.get(page).content.decode()
        assert SECRET not in shown
        assert "The server answered 503: away" in shown
        assert "0 entries" in shown
    assert browser.post(f"/admin/tasks_app/tracesink/{sink.pk}/change/", form(key="")).status_code == 302
    browser.post(f"/admin/tasks_app/tracesink/{sink.pk}/delete/", {"post": "yes"})
    assert not ServiceKey.objects.exists()


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"key": ""}, "Requests are signed"),
        ({"kind": "otlp", "url": ""}, "This kind of sink needs an address."),
        ({"events": '["nothing"]'}, "Write a list of these: task_started"),
        ({"name": "../x"}, "Enter a valid value."),
    ],
)
def test_admin_reports_missing_fields(browser, fields, words):
    assert words in browser.post(ADD, form(**fields)).content.decode()
    assert not TraceSink.objects.exists()


def test_all_events_can_be_resent(browser):
    sink = TraceSink.objects.create(name="lines", kind="file", cursor=7)
    for action, cursor in (("try_now", 7), ("send_all", 0)):
        browser.post("/admin/tasks_app/tracesink/", {"action": action, "_selected_action": [sink.pk]})
        sink.refresh_from_db()
        assert sink.cursor == cursor


FILE = """
tracing:
  - {name: lines, kind: file, max_bytes: 1000000}
  - {name: hook, kind: http, url: "https://example.org/events", key: one, events: [final_answer]}
"""


def test_file_creates_and_changes_sinks(configure):
    assert configure(FILE) == ["trace sink lines: created", "trace sink hook: created", "trace sink hook: key changed"]
    assert configure(FILE) == []
    assert configure(FILE.replace("one", "two")) == ["trace sink hook: key changed"]
    assert TraceSink.objects.get(name="hook").events == ["final_answer"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("tracing: [{name: a, kind: http, url: 'https://example.org'}]", "key is missing"),
        ("tracing: [{name: a, kind: otlp}]", "url is missing"),
        ("tracing: [{name: a, kind: file, events: [x]}]", "tracing[0].events[0]"),
        ("tracing: [{name: a, kind: file}, {name: a, kind: file}]", "a"),
    ],
)
def test_mistake_in_a_sink_is_located(configure, text, words):
    with pytest.raises(ConfigurationError, match=words.replace("[", r"\[")):
        configure(text + "\n")
    assert not TraceSink.objects.exists()


def test_run_agent_writes_its_events(transactional_db, tmp_path, capsys):
    factories.UserFactory(username="olga")
    model, path = factories.scripted_model("script"), tmp_path / "trace.jsonl"
    where = ("--user", "olga", "--model", model.name, "--trace", str(path))
    call_command("run_agent", script(result("Three.")), *where)
    assert capsys.readouterr().out == "Three.\n"
    events = [json.loads(line) for line in path.read_text().splitlines()]
    assert [event["type"] for event in events] == [
        *("task_started", "metadata", "tool_call"),
        *("tool_result", "final_answer", "task_ended"),
    ]


def test_unwritable_trace_is_a_usage_error(transactional_db, tmp_path):
    with pytest.raises(CommandError) as refused:
        call_command("run_agent", "x", "--trace", str(tmp_path / "nowhere" / "x"))
    assert refused.value.returncode == 2
