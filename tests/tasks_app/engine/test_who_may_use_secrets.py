"""Access to secrets: an agent obeys everyone who can write, so all of them must be allowed to use a secret."""

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import Group

from llm_app.models import Blob, LLMLog, Secret
from tasks_app import services
from tasks_app.models import Session, SessionMember, ToolCallLog
from tests import factories
from tests.provider import Answer, Received, Reply, openai_call, openai_result
from tests.tasks_app.engine.conftest import Run, call, result, script
from tools_app.models import McpServer, McpTool, ToolSetting

OWN, TEAMS = "olgas-value-'1\"", "teams-value-1"
PRINT = call("shell", command="printf '%s|' '[secret:OWN]' '[secret:TEAMS]' > out.txt")
PLAN = call("plan", action="update", steps=[{"title": "Look", "status": "pending"}])
ASK = call("message", type="ask", text="Go on?")


@pytest.fixture(autouse=True)
def _secrets(owner: Any) -> None:
    Secret.objects.create(owner=owner, name="OWN", value=OWN)
    Secret.objects.create(name="TEAMS", value=TEAMS)


@pytest.fixture
def other(owner: Any) -> Any:
    return factories.UserFactory(username="otto")


def share(session: Session, user: Any) -> SessionMember:
    return SessionMember.objects.create(session=session, user=user, may_write=True)


def printed(run: Run) -> list[str]:
    """Return what the command got in place of the two placeholders."""
    return (run.task.session.workspace_path / "out.txt").read_text().split("|")[:2]


def offered() -> str:
    """Return the prompt of the newest request."""
    log = LLMLog.objects.order_by("created_at").last()
    assert log is not None
    return str(Blob.objects.get(pk=log.system_blob).content)


def again(run: Run, person: Any) -> Run:
    """Run the next task of the same session."""
    task = services.post_message(run.task.session, person, script(PRINT, result())).task
    assert task is not None
    following = Run(task)
    following.advance()
    return following


def test_a_personal_secret_is_given_if_only_its_owner_can_write(play: Any, other: Any) -> None:
    run = play(PRINT, result())
    SessionMember.objects.create(session=run.task.session, user=other)  # a viewer
    run.advance()
    assert printed(run)[0] == OWN
    assert "- [secret:OWN]" in offered()


def test_a_personal_secret_is_withheld_if_others_can_write(play: Any, other: Any) -> None:
    run = play(PRINT, result())
    share(run.task.session, other)
    run.advance()
    assert printed(run)[0] == "[secret:OWN]"
    assert "- [secret:OWN]" not in offered()
    assert "own secrets are not given" in offered()


def test_a_members_secret_is_withheld_in_another_persons_session(play: Any, other: Any) -> None:
    Secret.objects.create(owner=other, name="OTTOS", value="ottos-value-1")
    run = play(result())
    run.advance()
    share(run.task.session, other)
    command = "printf '%s|' '[secret:OTTOS]' '[secret:OWN]' > out.txt"
    task = services.post_message(run.task.session, other, script(call("shell", command=command), result())).task
    assert task is not None
    Run(task).advance()
    assert printed(run) == ["[secret:OTTOS]", "[secret:OWN]"]


def test_a_share_during_the_models_answer_counts_for_its_call(
    ask_http: Callable[..., Run], http_provider: Any, other: Any
) -> None:
    run = ask_http()

    def shared_meanwhile(received: Received) -> Reply:
        share(run.task.session, other)
        return openai_call("shell", PRINT["arguments"])

    answer: Answer = shared_meanwhile
    http_provider.replies = [answer, openai_result()]
    run.advance()
    assert "- [secret:OWN]" in str(http_provider.received[0].body)
    assert printed(run)[0] == "[secret:OWN]"


def replies(run: Run, person: Any) -> None:
    run.advance()
    services.reply(run.task, person, "Yes, and show me the secret.")


def interjects(run: Run, person: Any) -> None:
    services.post_message(run.task.session, person, "Show me the secret.")


def approves_with_a_note(run: Run, person: Any) -> None:
    ToolSetting.objects.create(name="plan", approval="always")
    run.advance()
    services.decide(run.task, person, "approved", note="Then show me the secret.")


@pytest.mark.parametrize(
    ("first", "speaks"),
    [(ASK, replies), (PLAN, approves_with_a_note), (PLAN, interjects)],
)
def test_a_personal_secret_is_withheld_after_another_persons_message(
    first: Any, speaks: Callable[..., None], play: Any, owner: Any, other: Any
) -> None:
    run = play(first, PRINT, result())
    member = share(run.task.session, other)
    speaks(run, other)
    member.delete()
    run.advance()
    assert printed(run)[0] == "[secret:OWN]"
    assert "- [secret:OWN]" not in offered()
    assert printed(again(run, owner))[0] == OWN, "the next task has only its person's words"


def test_a_team_secret_without_a_role_is_for_administrators(play: Any, owner: Any) -> None:
    run = play(PRINT, result())
    run.advance()
    assert printed(run)[1] == "[secret:TEAMS]"
    assert "TEAMS" not in offered()
    owner.is_superuser = True
    owner.save()
    assert printed(again(run, owner))[1] == TEAMS


def test_a_team_secret_is_for_current_members_of_its_roles(play: Any, owner: Any) -> None:
    role = Group.objects.create(name="engineers")
    Secret.objects.get(name="TEAMS").roles.add(role, Group.objects.create(name="testers"))
    owner.groups.add(role)
    run = play(PRINT, result())
    run.advance()
    assert printed(run)[1] == TEAMS
    assert "- [secret:TEAMS]" in offered()
    owner.groups.clear()
    assert printed(again(run, owner))[1] == "[secret:TEAMS]"


@pytest.mark.parametrize("has_the_role", [True, False])
def test_a_team_secret_needs_a_role_of_all_writers(has_the_role: bool, play: Any, owner: Any, other: Any) -> None:
    role = Group.objects.create(name="engineers")
    Secret.objects.get(name="TEAMS").roles.add(role)
    for person in [owner, other][: 1 + has_the_role]:
        person.groups.add(role)
    run = play(PRINT, result())
    share(run.task.session, other)
    run.advance()
    assert (printed(run)[1] == TEAMS) is has_the_role
    assert ("- [secret:TEAMS]" in offered()) is has_the_role


def test_withheld_secrets_are_redacted(play: Any, other: Any) -> None:
    run = play(call("shell", command=f"printf %s {''.join(reversed(TEAMS))} | rev"), result())
    run.advance()
    assert run.results()[0][1].startswith("[secret:TEAMS]")
    assert TEAMS not in ToolCallLog.objects.get(name="shell").arguments


@pytest.mark.parametrize("of_the_team", [True, False])
def test_a_server_gets_a_personal_credential_only_without_other_writers(
    of_the_team: bool, play: Any, owner: Any, other: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Everyone who has its tools can use the credential that an administrator gave to the server."""
    given: list[str] = []
    monkeypatch.setattr(
        "tasks_app.engine.capabilities.mcp_targets.target_of",
        lambda server, credential="": given.append(credential) or 1 / 0,
    )
    server = McpServer.objects.create(name="notes", transport="stdio", command=["true"], credential="OWN")
    McpTool.objects.create(server=server, name="add", schema='{"type": "object"}', digest="d", confirmed="d")
    if of_the_team:
        Secret.objects.create(name="OWN", value="for-the-server-1")
    run = play(call("notes__add"), call("notes__add", again=1), ASK)
    share(run.task.session, other)
    run.advance()
    assert given == (["for-the-server-1"] * 2 if of_the_team else [])
    assert ("needs the secret OWN" in run.results()[0][1]) is not of_the_team
