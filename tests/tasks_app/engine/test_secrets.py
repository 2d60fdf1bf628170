"""Secrets reach the tools that take them, but no model, row or stream, even if they are saved during a task."""

import json

import pytest
from django.contrib.auth.models import Group

from llm_app.cache_boundary import MARKER
from llm_app.models import Blob, LLMLog, Secret
from tasks_app import services
from tasks_app.engine import run_tool
from tasks_app.models import Project, SessionMember, ToolCallLog
from tasks_app.services import projects, secrets
from tests import factories
from tests.provider import openai_call, openai_result
from tests.tasks_app.engine.conftest import call, result

VALUE = "pa$$word-'0a1B\"2c"


@pytest.fixture
def token(owner):
    return Secret.objects.create(owner=owner, name="TOKEN", value=VALUE)


def written(run, path="out.txt"):
    return (run.task.session.workspace_path / path).read_text()


def test_the_shell_gets_the_value_and_the_record_keeps_the_placeholder(play, token):
    run = play(
        call("shell", command="printf %s '[secret:TOKEN]' | tee out.txt; printf %s '[secret:TOKEN]' >&2"), result()
    )
    run.advance()
    assert written(run) == VALUE
    output = run.results()[0][1]
    assert output.startswith("[secret:TOKEN]")
    assert json.loads(ToolCallLog.objects.get(name="shell").arguments)["command"].count("[secret:TOKEN]") == 2
    assert not any(VALUE in repr(vars(entry)) for entry in run.entries)


def test_a_file_gets_the_value_and_is_read_and_edited_by_the_placeholder(play, token):
    run = play(
        call("file", action="write", path="out.txt", content="KEY=[secret:TOKEN]\n"),
        call("file", action="read", path="out.txt"),
        call("file", action="edit", path="out.txt", old="KEY=[secret:TOKEN]", new="TOKEN=[secret:TOKEN]"),
        result(),
    )
    run.advance()
    assert written(run) == f"TOKEN={VALUE}\n"
    assert "KEY=[secret:TOKEN]" in run.results()[1][1]


@pytest.mark.parametrize(
    "reply",
    [
        call("match", action="grep", pattern="[secret:TOKEN]", path="."),
        call("plan", steps=[{"title": "[secret:TOKEN]", "status": "pending"}]),
        call("message", type="info", text="[secret:TOKEN]"),
    ],
)
def test_other_tools_get_the_placeholder_only(reply, play, token, monkeypatch):
    seen = []

    real = run_tool.tool_context
    monkeypatch.setattr(run_tool, "tool_context", lambda *a: seen.append(real(*a)) or seen[-1])
    play(reply, result()).advance()
    assert seen
    assert all(context.secrets == {} for context in seen)


def test_a_placeholder_never_reveals_another_persons_secret(play, owner):
    stranger, writer = factories.UserFactory(), factories.UserFactory()
    Secret.objects.create(owner=stranger, name="THEIRS", value="strangers-value-1")
    Secret.objects.create(owner=writer, name="WRITERS", value="writers-value-1")
    role = Group.objects.create(name="engineers")
    role.user_set.add(owner, writer)
    Secret.objects.create(name="TEAMS", value="teams-value-1").roles.add(role)
    command = "printf '%s|' '[secret:THEIRS]' '[secret:WRITERS]' '[secret:TEAMS]' | tee out.txt"
    run = play(call("shell", command=command), result())
    SessionMember.objects.create(session=run.task.session, user=writer, may_write=True)
    run.advance()
    assert written(run) == "[secret:THEIRS]|[secret:WRITERS]|teams-value-1|"
    assert run.results()[0][1].startswith("[secret:THEIRS]|[secret:WRITERS]|[secret:TEAMS]|")


def test_a_persons_secret_overrides_the_teams(play, owner, token):
    Secret.objects.create(name="TOKEN", value="teams-value-1")
    run = play(call("shell", command="printf %s '[secret:TOKEN]' > out.txt"), result())
    run.advance()
    assert written(run) == VALUE


def test_secrets_of_all_writers_are_redacted(play):
    reader, writer = factories.UserFactory(), factories.UserFactory()
    Secret.objects.create(owner=writer, name="WRITERS", value="writers-value-1")
    Secret.objects.create(owner=reader, name="READERS", value="readers-value-1")
    run = play(call("shell", command="rev <<<1-eulav-sretirw; rev <<<1-eulav-sredaer"), result())
    SessionMember.objects.create(session=run.task.session, user=writer, may_write=True)
    SessionMember.objects.create(session=run.task.session, user=reader)
    run.advance()
    assert run.results()[0][1].startswith("[secret:WRITERS]\nreaders-value-1\n")


def test_a_secret_saved_during_a_task_applies_immediately(ask_http, http_provider, owner):
    http_provider.replies = [
        openai_call("shell", {"command": "rev <<<1-eulav-emos"}, call_id="call_a"),
        openai_call("message", {"type": "ask", "text": "Go on?"}, call_id="call_b"),
        openai_call("shell", {"command": "rev <<<1-eulav-emos"}, call_id="call_c"),
        openai_result("It is some-value-1."),
    ]
    run = ask_http()
    run.advance()
    assert "some-value-1" in run.results()[0][1]
    Secret.objects.create(owner=owner, name="LATER", value="some-value-1")

    services.reply(run.task, owner, "Yes, some-value-1.")
    sent = len(http_provider.received)
    run.advance()
    assert run.task.final_result["text"] == "It is [secret:LATER]."
    assert run.results()[1][1] == "Yes, [secret:LATER]."
    assert run.results()[2][1].startswith("[secret:LATER]")
    assert all(b"some-value-1" not in got.raw for got in http_provider.received[sent:])
    assert "some-value-1" in run.results()[0][1], "an older entry is never changed"
    assert LLMLog.objects.order_by("created_at").last().masked_spans


def test_a_long_result_is_redacted_before_it_is_cut(play, token):
    run = play(call("shell", command="for n in $(seq 3000); do printf '%s ' '[secret:TOKEN]'; done"), result())
    run.advance()
    output = run.results()[0][1]
    (kept,) = (run.task.session.workspace_path / ".results").iterdir()
    assert VALUE[:8] not in output
    assert VALUE[:8] not in kept.read_text()


@pytest.mark.parametrize("lines", [1, 3000])
def test_a_secret_saved_during_a_tool_is_redacted_in_its_result(play, owner, monkeypatch, lines):
    made = run_tool.tool_context

    def saved_meanwhile(*about):
        Secret.objects.get_or_create(owner=owner, name="LATER", defaults={"value": "some-value-1"})
        return made(*about)

    monkeypatch.setattr(run_tool, "tool_context", saved_meanwhile)
    run = play(call("shell", command=f'yes "$(rev <<<1-eulav-emos)" | head -n {lines}'), result())
    run.advance()
    kept = [path.read_text() for path in run.task.session.workspace_path.glob(".results/*")]
    assert len(kept) == (lines > 1)
    for text in (run.results()[0][1], *kept):
        assert "[secret:LATER]" in text
        assert "some-val" not in text


def test_a_tools_error_reveals_no_secret(play, token, monkeypatch):
    from tools_app.tools import shell

    def broken(text, secrets):
        raise RuntimeError(f"broken with {secrets}")

    monkeypatch.setattr(shell, "as_variables", broken)
    run = play(call("shell", command="echo '[secret:TOKEN]'"), result())
    run.advance()
    assert run.results()[0][0] == "failed"
    assert VALUE not in repr([vars(entry) for entry in run.entries])


def test_the_prompt_names_usable_secrets_after_the_stable_part(play, owner, token):
    owner.is_superuser = True
    owner.save()
    Secret.objects.create(name="TEAMS", value="teams-value-1")
    Secret.objects.create(owner=factories.UserFactory(), name="THEIRS", value="strangers-value-1")
    play(result()).advance()
    system = Blob.objects.get(pk=LLMLog.objects.first().system_blob).content
    stable, dynamic = system.split(MARKER)
    assert "- [secret:TEAMS]\n- [secret:TOKEN]\n" in dynamic
    assert "`file`" in dynamic
    assert "`shell`" in dynamic
    assert "THEIRS" not in system
    assert "TOKEN]" not in stable


def test_secrets_in_preferences_are_redacted(play, owner):
    owner.preferences = f"My password is {VALUE}."
    owner.save()
    Secret.objects.create(owner=owner, name="TOKEN", value=VALUE)
    play(result()).advance()
    system = Blob.objects.get(pk=LLMLog.objects.first().system_blob).content
    assert "My password is [secret:TOKEN]." in system
    assert VALUE not in system


@pytest.fixture
def while_it_runs(monkeypatch):
    """A list of functions to call while each call runs."""
    made, happening = run_tool.tool_context, []

    def happens(*about):
        for happen in happening:
            happen()
        return made(*about)

    monkeypatch.setattr(run_tool, "tool_context", happens)
    return happening.append


def test_a_secret_saved_during_a_call_is_redacted_in_its_log(play, owner, while_it_runs):
    def save():
        if not Secret.objects.exists():
            secrets.create(owner, "LATER", "some-value-1")

    while_it_runs(save)
    play(call("shell", command="echo some-value-1"), result()).advance()
    assert json.loads(ToolCallLog.objects.get(name="shell").arguments)["command"] == "echo [secret:LATER]"


def shared_in_session(session, writer):
    SessionMember.objects.create(session=session, user=writer, may_write=True)


def shared_in_project(session, writer):
    projects.move_session(session, Project.objects.create(owner=writer, name="Plans"))


@pytest.mark.parametrize("share", [shared_in_session, shared_in_project])
def test_secrets_of_a_new_writer_are_redacted_immediately(play, while_it_runs, share):
    writer = factories.UserFactory()
    Secret.objects.create(owner=writer, name="WRITERS", value="writers-value-1")
    shared = []
    while_it_runs(lambda: shared or shared.append(share(run.task.session, writer) or True))
    run = play(call("shell", command="rev <<<1-eulav-sretirw"), result())
    run.advance()
    assert run.results()[0][1].startswith("[secret:WRITERS]")
