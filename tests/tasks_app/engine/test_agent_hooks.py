"""Hooks in an agent's settings: safe mode, autopilot, self-verification, a review of the result, an output filter."""

import pytest

from llm_app.models import LLMLog
from tasks_app import services
from tasks_app.models import Agent, Session
from tasks_app.workspace.folders import workspace_of
from tests import factories
from tests.provider import openai_result, openai_text
from tests.tasks_app.engine.conftest import call, result
from tools_app.sandbox.choice import choose_sandbox

READ = call("file", action="list", path=".")
WRITE = call("file", action="write", path="report.md", content="x")
SHELL = [call("shell", command=command) for command in ("cat .env", "curl x.org")]
NOTES = "The report is in report.md: three findings, no open question."


@pytest.fixture
def agent(play):
    """Set up the agent of the session that `play` uses."""

    def set_up(**fields):
        row = Agent.objects.create(name="careful one", **fields)
        Session.objects.update(agent=row)
        return row

    return set_up


def prompts(run):
    return LLMLog.objects.filter(task_id=run.task.id, purpose="step").count()


def test_hooks_are_off_by_default(play, agent):
    agent()
    run = play(WRITE, result("Done."))
    assert run.advance().state == "done"
    assert [status for status, _ in run.results()] == ["succeeded", "succeeded"]


def test_self_verification_asks_once_before_the_end(play, agent):
    agent(hooks=["self_verification"])
    run = play(READ, result("All good."), result("All good."))
    assert run.advance().state == "done"
    (_, (status, question), last) = run.results()
    assert status == "blocked"
    assert question.startswith("Refused by self-verification: before you finish, check your own work.")
    assert last == ("succeeded", "Delivered.")


def test_self_verification_asks_again_after_further_tool_calls(play, agent):
    agent(hooks=["self_verification"])
    run = play(result("One."), READ, result("Two."), result("Two."))
    assert run.advance().state == "done"
    assert [status for status, _ in run.results()] == ["blocked", "succeeded", "blocked", "succeeded"]
    assert run.task.final_result["text"] == "Two."


def test_self_verification_asks_once_per_task(play, agent):
    agent(hooks=["self_verification"])
    play(result("One."), result("One.")).advance()
    run = play(result("Two."), result("Two."))
    assert run.advance().state == "done"
    assert [status for status, _ in run.results()] == ["blocked", "succeeded"] * 2


def test_a_bad_result_is_refused_with_a_code_and_a_hint(play, agent):
    agent(hooks=["termination_review"])
    run = play(WRITE, result("Everything is done."), result(NOTES))
    assert run.advance().state == "done"
    status, content = run.results()[1]
    assert status == "blocked"
    assert content.startswith("Refused by termination review (UNSENT_RESULTS): You made files")
    (sent_back,) = [entry for entry in run.entries if entry.metadata.get("refused_by")]
    assert (sent_back.metadata["refused_by"], sent_back.metadata["code"]) == ("termination review", "UNSENT_RESULTS")
    assert run.task.final_result["text"] == NOTES


def test_the_review_passes_after_two_refusals(play, agent):
    agent(hooks=["termination_review"])
    run = play(READ, result("Done."), result("Done!"), result("Done."))
    assert run.advance().state == "done"
    assert [status for status, _ in run.results()] == ["succeeded", "blocked", "blocked", "succeeded"]


def test_safe_mode_hides_and_refuses_unsafe_tools(play, agent):
    agent(hooks=["safe_mode"])
    run = play(call("shell", command="ls"), WRITE, READ, result("Looked at it: the folder is empty."))
    assert run.advance().state == "done"
    hidden, refused, read, _ = run.results()
    assert hidden == ("blocked", "The tool shell is not available here.")
    assert refused[0] == "blocked"
    assert refused[1].startswith("Refused by safe mode: this call is moderate")
    assert read[0] == "succeeded"


def test_restricted_paths_and_blocked_commands_are_refused_with_and_without_safe_mode(play, agent):
    row = agent(restricted_paths=[".env"], blocked_commands=["curl"], hooks=["safe_mode"])
    run = play(call("file", action="read", path=".env"), call("message", type="ask", text="Go on?"), *SHELL, result())
    run.advance()
    type(row).objects.update(hooks=[])
    services.reply(run.task, run.task.started_by, "yes")
    assert run.advance().state == "done"
    words = "Do not try to do this by other means."
    refused = [content for status, content in run.results() if status == "blocked"]
    assert refused == [
        f"Refused: .env is restricted here by an administrator. {words}",
        f"Refused: .env is restricted here by an administrator. {words}",
        f"Refused: The command `curl` is blocked here by an administrator. {words}",
    ]


def test_programs_cannot_see_restricted_files(play, agent):
    if choose_sandbox("bubblewrap").probe():
        pytest.skip("commands run in no sandbox that masks files")
    agent(restricted_paths=[".env"])
    run = play(call("shell", command="grep -r KEPT ."), result())
    workspace = workspace_of(run.task.session)
    workspace.write_bytes(".env", b"KEPT too")
    workspace.write_bytes("notes.txt", b"KEPT")
    assert run.advance().state == "done"
    assert "./notes.txt:KEPT\n" in run.results()[0][1]
    assert "too" not in run.results()[0][1]


def test_on_autopilot_a_question_is_refused(play, agent):
    agent(hooks=["autopilot"])
    run = play(call("message", type="ask", text="Which one?"), result("I took the first one."))
    assert run.advance().state == "done"
    assert run.results()[0][0] == "blocked"
    assert "Decide yourself" in run.results()[0][1]


# --- the output filter ------------------------------------------------------------------------------------------


def test_a_filtered_result_is_withheld_entirely(play, agent):
    agent(withheld_patterns=[r"EMP-\d{4}"])
    (Session.objects.get().workspace_path).mkdir(parents=True)
    (Session.objects.get().workspace_path / "staff.txt").write_text("Ada EMP-1815\nNobody\n")
    run = play(call("file", action="read", path="staff.txt"), result("I could not read it."))
    assert run.advance().state == "done"
    assert run.results()[0] == (
        "blocked",
        "[The tool ran. Its result is withheld by output filter: it contains something that must not be shown here (pattern 1).]",
    )
    assert not any("EMP-1815" in entry.content for entry in run.entries)
    assert not list(Session.objects.get().workspace_path.rglob(".results/*"))


def test_a_long_filtered_result_is_not_stored_in_a_file(play, agent):
    agent(withheld_patterns=["EMP-1815"])
    folder = Session.objects.get().workspace_path
    folder.mkdir(parents=True)
    (folder / "staff.txt").write_text("line\n" * 1500 + "EMP-1815\n")
    run = play(call("shell", command="cat staff.txt"), result("It is withheld."))
    run.advance()
    assert run.results()[0][0] == "blocked"
    assert not list(folder.rglob(".results/*"))


@pytest.mark.parametrize("pattern", [r"(a+)+b", r"(a|aa)+$", r"(?:a+a+)+b", r"(?i)(a{1,500}){1,500}b"])
def test_a_result_is_withheld_if_a_pattern_takes_too_long(pattern, play, agent):
    agent(withheld_patterns=["no match", pattern])
    folder = Session.objects.get().workspace_path
    folder.mkdir(parents=True)
    (folder / "long.txt").write_text("a" * 4_000 + "!")
    run = play(call("file", action="read", path="long.txt"), result("I could not read it."))
    assert run.advance().state == "done"
    status, content = run.results()[0]
    assert (status, "pattern 2 of this agent's output filter could not be compared" in content) == ("blocked", True)
    assert "aaaa" not in content


def test_a_result_is_withheld_if_a_stored_pattern_is_invalid(play, agent):
    agent(withheld_patterns=["("])
    run = play(call("plan", steps=[{"title": "One", "status": "pending"}]), result("Done."), result("Done."))
    run.advance()
    assert "pattern 1 of this agent's output filter is not a regular expression" in run.results()[-1][1]


def test_a_refused_message_does_not_reveal_the_pattern(play, agent):
    agent(withheld_patterns=["no match", r"EMP-\d{4}"])
    run = play(result("Her number is EMP-1815."), result("She works here."))
    assert run.advance().state == "done"
    status, content = run.results()[0]
    assert status == "blocked"
    assert content == "Refused by output filter: it contains something that must not be shown here (pattern 2)."
    assert run.task.final_result["text"] == "She works here."


def test_a_message_is_refused_for_the_text_next_to_it(play, agent):
    agent(withheld_patterns=[r"EMP-\d{4}"])
    run = play({**result("All said above."), "content": "Her number is EMP-1815."}, result("She works here."))
    assert run.advance().state == "done"
    assert run.results()[0][0] == "blocked"
    assert run.task.final_result["text"] == "She works here."


def test_other_calls_are_refused_for_the_text_next_to_them(play, agent, owner, client):
    agent(withheld_patterns=[r"EMP-\d{4}"])
    run = play({**READ, "content": "I look up EMP-1815."}, "EMP-1816, I think.", result("Done."))
    assert run.advance().state == "done"
    assert run.results()[0] == (
        "blocked",
        "Refused by output filter: it contains something that must not be shown here (pattern 1).",
    )
    client.force_login(owner)
    page = client.get(run.task.session.get_absolute_url()).content.decode()
    assert "EMP-181" not in page.partition('id="entries"')[2].replace(run.entries[0].content.split("```")[1], "")


@pytest.mark.parametrize("patterns", [[], ["EMP"]])
def test_messages_are_not_streamed_with_an_output_filter(patterns, play, agent, monkeypatch):
    fed = []
    monkeypatch.setattr("tasks_app.runtime.live_stream.LiveStream.feed", lambda stream, kind, text: fed.append(kind))
    agent(withheld_patterns=patterns)
    run = play({**call("shell", command="echo hello"), "content": "I try."}, result("Hello."))
    assert run.advance().state == "done"
    assert ("words" in fed) == (not patterns)
    assert ("text" in fed) == (not patterns)
    assert ("tool_output" in fed) == (not patterns)


def test_the_stream_of_a_refused_result_is_withdrawn(play, agent, monkeypatch):
    withdrawn = []
    monkeypatch.setattr("tasks_app.runtime.live_stream.LiveStream.withdraw", lambda stream: withdrawn.append(stream.id))
    agent(hooks=["self_verification"])
    run = play(result("One."), result("Two."))
    run.advance()
    refused, accepted = [entry for entry in run.entries if entry.context_type == "ai_message"]
    assert withdrawn == [refused.metadata["stream"]]
    assert accepted.metadata["stream"] not in withdrawn


# --- a model that reviews ---------------------------------------------------------------------------------------


@pytest.fixture
def reviewed(http_session, http_provider):
    model = factories.RouteFactory(provider=http_session.model.routes.get().provider, provider_model="reviewer").model
    agent = Agent.objects.create(name="reviewed", hooks=["termination_review"], review_model=model)
    Session.objects.filter(pk=http_session.pk).update(agent=agent)


def test_a_model_can_review_instead_of_rules(reviewed, ask_http, http_provider):
    http_provider.replies = [
        openai_result("Something."),
        openai_text("GENERIC: it does not name the file."),
        openai_result("It is in a.txt."),
        openai_text("OK"),
    ]
    run = ask_http("Where is it?")
    assert run.advance().state == "done"
    assert run.results()[0][0] == "blocked"
    assert "(GENERIC)" in run.results()[0][1]
    assert "it does not name the file." in run.results()[0][1]
    assert run.task.final_result["text"] == "It is in a.txt."
    asked = http_provider.received[1].body
    assert asked["model"] == "reviewer"
    assert "Where is it?" in str(asked["messages"])
    assert LLMLog.objects.filter(purpose="review").count() == 2


def test_an_unreachable_reviewer_does_not_block_the_task(reviewed, ask_http, http_provider):
    refusal = openai_text("", status=400, content_type="application/json")
    http_provider.replies = [openai_result("It is in a.txt."), refusal]
    run = ask_http()
    assert run.advance().state == "done"
    assert any("“termination review” failed and was skipped" in entry.content for entry in run.entries)
