"""Hooks around each call: they refuse, annotate and ask for approval, and their errors are never silent."""

from importlib.metadata import EntryPoint

import pytest

from tasks_app import services
from tasks_app.models import Agent, Approval, MemoryNote, Session, Task
from tests.tasks_app.engine import plugins
from tests.tasks_app.engine.conftest import call, result, script
from tests.waiting import takes_less_than, until
from tools_app.hooks import loading

WRITE = call("file", action="write", path="a.txt", content="x")


@pytest.fixture
def hooked(settings):
    """Install plugins by the names of their classes."""
    plugins.RELEASED.clear()

    def switch_on(*names):
        settings.HOOKS = [f"tests.tasks_app.engine.plugins.{name}" for name in names]

    yield switch_on
    plugins.RELEASED.set()


def notices(run):
    return [entry.content for entry in run.entries if entry.context_type == "status_notice"]


def test_a_refusal_is_a_visible_result_with_its_reason(play, hooked):
    hooked("NoSecretsFile")
    run = play(call("file", action="write", path="secret.txt", content="x"), WRITE, result())
    assert run.advance().state == "done"
    assert run.results()[0] == ("blocked", "Refused by keeper (PRIVATE): this file is nobody's business.")
    assert run.results()[1][0] == "succeeded"
    assert not (run.task.session.workspace_path / "secret.txt").exists()


def test_notes_are_added_to_the_result(play, hooked):
    hooked("Remarks")
    run = play(WRITE, result())
    run.advance()
    content = run.results()[0][1]
    assert "[remarks: it succeeded]" in content
    assert "[remarks: file is moderate, 0 before it]" in content


def test_a_hook_can_ask_for_a_person(play, hooked, owner):
    hooked("Careful")
    run = play(WRITE, result())
    task = run.advance()
    assert task.waiting_for == "approval"
    assert Approval.objects.get().reason == "careful: writes are looked at"
    services.decide(task, owner, "approved")
    assert run.advance().state == "done"
    assert "Approved by olga" in run.results()[0][1]


def test_an_approval_for_the_task_is_not_requested_again(play, hooked, owner):
    hooked("Careful")
    run = play(WRITE, call("file", action="write", path="b.txt", content="y"), result())
    services.decide(run.advance(), owner, "approved", scope="task")
    assert run.advance().state == "done"


@pytest.mark.parametrize("name", ["Failing", "Blocking", "Talkative", "NOT_A_HOOK", "DoesNotExist"])
def test_a_failing_hook_refuses_before_execution(name, play, hooked):
    hooked(name)
    run = play(WRITE, result())
    run.task.refresh_from_db()
    run.advance()
    status, content = run.results()[0]
    assert status == "blocked"
    assert "an administrator finds" in content.lower()
    assert "nobody may see" not in content
    assert not (run.task.session.workspace_path / "a.txt").exists()


def test_a_failing_hook_is_skipped_after_execution_with_a_notice(play, hooked):
    hooked("FailingLater", "LooksAtEnd")
    run = play(WRITE, result())
    assert run.advance().state == "done"
    assert run.results()[0][0] == "succeeded"
    said = notices(run)
    assert said.count("The hook “failing later” failed and was skipped.") == 3  # two results, one end
    assert "The hook “slow look” failed and was skipped." in said


def test_output_is_withheld_if_its_filter_fails(play, hooked):
    hooked("FailingFilter")
    run = play(WRITE, result())
    run.advance()
    status, content = run.results()[0]
    assert status == "blocked"
    assert "withheld by failing filter" in content


def test_no_hook_is_asked_after_a_refusal(play, hooked, owner):
    hooked("Careful", "NoSecretsFile")
    run = play(call("file", action="write", path="secret.txt", content="x"), result())
    assert run.advance().state == "done"
    assert run.results()[0][0] == "blocked"


def test_a_person_interrupts_a_hook(play, hooked, owner):
    hooked("Endless")
    run = play(WRITE, result())
    thread = run.in_thread()
    until(plugins.RELEASED.is_set)
    with takes_less_than(5):
        services.stop(run.task)
        thread.join(60)
        run.task.refresh_from_db()
        assert run.task.stopped
    assert run.results()[0][0] == "interrupted"
    assert not (run.task.session.workspace_path / "a.txt").exists()


@pytest.fixture
def interjected(play, hooked, owner):
    """Play a call, interject while a hook checks its result, and return the run."""

    def go(call):
        hooked("EndlessLater")
        run = play(call, result("Never said."))
        thread = run.in_thread()
        until(plugins.RELEASED.is_set)
        services.post_message(run.task.session, owner, script(result("Heard.")))
        thread.join(60)
        run.task.refresh_from_db()
        return run

    return go


def test_effects_apply_if_a_person_interrupts_the_check(interjected):
    run = interjected(call("memory", action="remember", text="The sky is green."))
    assert run.results()[0] == (
        "interrupted",
        "It ran. The user interrupted before its result was checked, so the result is withheld.",
    )
    assert MemoryNote.objects.get().text == "The sky is green."
    assert run.task.final_result["text"] == "Heard."


def test_a_final_result_is_sent_if_a_person_interrupts_its_check(interjected):
    run = interjected(result("All done."))
    assert (run.task.state, run.task.final_result["text"]) == ("done", "All done.")
    assert type(run)(Task.objects.active().get()).advance().final_result["text"] == "Heard."


def test_an_interrupted_check_of_a_delegation_ends_its_children(interjected):
    run = interjected(call("delegate", tasks=[{"instruction": script(result("Never said."))}]))
    assert run.task.final_result["text"] == "Heard."
    status, content = run.results()[0]
    assert (status, "It was stopped with this call." in content) == ("interrupted", True)
    child = Task.objects.get(parent_call__task=run.task)
    assert type(run)(child).advance().stopped


@pytest.mark.parametrize(("decision", "state"), [("approved", "done"), ("rejected", "executing_tool")])
def test_a_result_can_need_an_approval(decision, state, play, hooked, owner):
    hooked("AsksBeforeTheEnd")
    run = play(result("A draft."), result("Better."))
    task = run.advance()
    assert task.waiting_for == "approval"
    services.decide(task, owner, decision, note="Too short.")
    assert run.advance().state == state
    assert "Too short." in run.results()[0][1]


def test_entry_points_are_hooks(play, settings, monkeypatch):
    point = EntryPoint("theirs", "tests.tasks_app.engine.plugins:NoSecretsFile", "agentsite.hooks")
    monkeypatch.setattr("tools_app.hooks.loading.entry_points", lambda group: [point] if group == point.group else [])
    settings.HOOKS = ["tests.tasks_app.engine.plugins.Remarks"]
    loading.plugins.cache_clear()
    run = play(call("file", action="write", path="secret.txt", content="x"), result())
    run.advance()
    loading.plugins.cache_clear()
    assert run.results()[0][1].startswith("Refused by keeper")


def test_an_optional_plugin_is_asked_only_for_agents_that_name_it(play, hooked, monkeypatch):
    monkeypatch.setattr(plugins.NoSecretsFile, "for_all", False)
    loading.plugins.cache_clear()
    hooked("NoSecretsFile")
    secret = call("file", action="write", path="secret.txt", content="x")
    run = play(secret, result())
    run.advance()
    assert run.results()[0][0] == "succeeded"
    Session.objects.update(agent=Agent.objects.create(name="guarded", hooks=["keeper"]))
    run = play(secret, result())
    run.advance()
    assert run.results()[-2] == ("blocked", "Refused by keeper (PRIVATE): this file is nobody's business.")
    assert "keeper" in loading.choices(("tests.tasks_app.engine.plugins.NoSecretsFile",))


def test_a_chosen_hook_that_is_not_installed_refuses_every_call(play):
    run = play(WRITE, result())
    Session.objects.update(agent=Agent.objects.create(name="guarded", hooks=["gone"]))
    run.advance()
    assert run.results()[0][0] == "blocked"
    assert "could not be loaded" in run.results()[0][1]
