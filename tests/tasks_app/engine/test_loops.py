"""An agent that repeats itself: five identical calls run, further ones are refused, the third refused ends the task."""

import random

import pytest

from tasks_app import services
from tasks_app.engine import loop
from tasks_app.models import Approval, ToolCallLog
from tasks_app.workspace import file_history
from tasks_app.workspace.folders import workspace_of
from tests.tasks_app.engine.conftest import call, result, script
from tools_app.contract import registry

LIST = call("file", action="list", path=".")
READ = call("file", action="read", path="a.txt")
PLAN = call("plan", action="update", steps=[{"title": "Look"}])


def test_five_run_three_are_refused_and_the_task_ends(play):
    run = play(*[LIST] * 20)
    task = run.advance()
    assert (task.state, task.failure_code) == ("failed", "tool_loop")
    assert [status for status, _ in run.results()] == ["succeeded"] * 5 + ["blocked"] * 3
    assert [entry.metadata.get("kind") for entry in run.entries].count("loop") == 3


def test_arguments_in_another_order_are_the_same_call(play):
    turned = call("file", path=".", action="list")
    run = play(*[LIST, turned] * 4)
    assert run.advance().failure_code == "tool_loop"


def test_invalid_calls_count_too(play):
    run = play(*[call("no_such_tool", x=1)] * 20)
    task = run.advance()
    assert task.failure_code == "tool_loop"
    assert [status for status, _ in run.results()] == ["failed"] * 5 + ["blocked"] * 3


def test_a_different_call_after_a_refusal_continues_the_task(play):
    run = play(*[LIST] * 6, result("found another way"))
    assert run.advance().state == "done"


def test_identical_calls_far_apart_run(play):
    others = [call("file", action="read", path=f"{n}.txt") for n in range(16)]
    run = play(*[LIST] * 5, *others, LIST, result())
    assert run.advance().state == "done"
    assert "blocked" not in [status for status, _ in run.results()]


def test_a_message_of_a_person_empties_the_window(play, owner):
    question = call("message", type="ask", text="Go on?")
    run = play(*[LIST] * 5, question)
    run.advance()
    services.post_message(run.task.session, owner, "Yes, go on.")
    # The answer to a question is a result. Text that a person writes during the task is a message.
    again = script(*[LIST] * 5, result("All the same."))
    services.post_message(run.task.session, owner, again)
    run.advance()
    assert [status for status, _ in run.results()].count("succeeded") >= 10
    assert not ToolCallLog.objects.filter(task=run.task, looped=True).exists()


def test_the_window_survives_a_restart(play):
    run = play(*[LIST] * 4, call("message", type="ask", text="Go on?"), *[LIST] * 4)
    run.advance()
    services.reply(run.task, run.task.started_by, "yes")
    task = run.advance()
    assert task.failure_code == "tool_loop" or "blocked" in [status for status, _ in run.results()]


@pytest.fixture(params=["one slice", "a claim for each iteration"])
def worked_off(request, play, monkeypatch):
    """Play the replies to the end with any number of claims. Plans are allowed to repeat."""
    monkeypatch.setitem(vars(registry.get("plan")), "loop_exempt", True)
    if request.param != "one slice":
        monkeypatch.setattr(loop, "run", loop.advance)

    def go(*replies, may_fail=False, **options):
        run = play(*replies, result(), **options)
        while run.task.is_active:
            run.advance()
        assert run.task.state == "done" or may_fail
        return run

    return go


def test_repeatable_calls_make_no_cycle(worked_off):
    run = worked_off(*[PLAN, LIST] * 5)
    assert "cycle" not in [entry.metadata.get("kind") for entry in run.entries]


def test_repeatable_calls_do_not_fill_the_window(worked_off):
    run = worked_off(*[LIST] * 5, *[PLAN] * 16, LIST)
    assert [status for status, _ in run.results()].count("blocked") == 1


def test_approvals_are_bound_to_repeatable_calls(play, owner, monkeypatch):
    monkeypatch.setitem(vars(registry.get("shell")), "loop_exempt", True)
    run = play(*[call("shell", command=f"git push --force; echo {n}") for n in range(2)], result())
    while run.advance().waiting_for == "approval":
        services.decide(run.task, owner, "approved")
    assert [status for status, _ in run.results()] == ["succeeded"] * 3
    assert len(set(Approval.objects.values_list("fingerprint", flat=True))) == 2


# --- honest work ----------------------------------------------------------------------------------------------------

TESTS = """import unittest, m
class T(unittest.TestCase):
""" + "\n".join(f"    def test_{n}(self): self.assertEqual(m.f{n}(), {n})" for n in range(30))
TEST = call("shell", command="python3 -m unittest -q t 2>&1 | tail -1")


def functions(count):
    """Return a call that writes the module under test with so many functions."""
    text = "".join(f"def f{n}(): return {n}\n" for n in range(count))
    return call("file", action="write", path="m.py", content=text)


def test_thirty_rounds_of_editing_and_testing_are_no_loop(worked_off):
    write = call("file", action="write", path="t.py", content=TESTS)
    run = worked_off(write, *[step for n in range(1, 31) for step in (functions(n), TEST)], max_iterations=80)
    results = run.results()
    assert {status for status, _ in results} == {"succeeded"}
    assert "FAILED (errors=29)" in results[2][1]
    assert "OK" in results[-2][1]


def test_tests_that_fail_alike_after_each_edit_are_no_loop(worked_off):
    edits = [call("shell", command=f"echo {n} >> notes.txt") for n in range(12)]
    run = worked_off(*[step for edit in edits for step in (edit, TEST)])
    assert len({content for _, content in run.results() if "ModuleNotFound" in content or "exit code" in content}) > 1
    assert "blocked" not in [status for status, _ in run.results()]


def edit(where, n):
    return call("file", action="write", path=where, content=f"{n}")


@pytest.mark.parametrize(
    "work",
    [
        pytest.param(lambda n: edit("node_modules/m/index.js", n), id="an ignored folder"),
        pytest.param(lambda n: call("shell", command=f"echo {n} > $HOME/state"), id="the home"),
        pytest.param(lambda n: call("shell", command=f"echo {n} > /tmp/state"), id="a temporary file"),
        pytest.param(lambda n: call("shell", command=f"mkdir made{n}"), id="an empty folder"),
        pytest.param(lambda n: call("shell", command=f"git init -q; git commit -qm {n} --allow-empty"), id="a commit"),
    ],
)
def test_work_outside_the_file_history_is_no_loop(worked_off, work):
    same = call("shell", command="echo 1 failed; false")
    run = worked_off(*[step for n in range(8) for step in (work(n), same)])
    assert "blocked" not in [status for status, _ in run.results()]


def test_reads_between_calls_do_not_allow_a_repetition(worked_off):
    looks = [call("match", action="glob", pattern=f"{n}*") for n in range(8)]
    run = worked_off(*[step for look in looks for step in (look, call("shell", command="false"))])
    assert [status for status, _ in run.results()].count("blocked") == 3


def test_a_result_that_changes_is_no_repetition(worked_off):
    run = worked_off(*[call("shell", command="date +%N")] * 12)
    assert {status for status, _ in run.results()} == {"succeeded"}


def test_a_call_that_changes_files_itself_is_no_repetition(worked_off):
    run = worked_off(*[call("shell", command="echo x >> log.txt")] * 12)
    assert {status for status, _ in run.results()} == {"succeeded"}


def test_changes_by_a_person_allow_a_repetition(play, owner):
    run = play(*[LIST] * 5, call("message", type="ask", text="Look?"), LIST, result())
    run.advance()
    workspace = workspace_of(run.task.session)
    file_history.ensure_snapshot(run.task.session, workspace)
    workspace.write_bytes("new.txt", b"new")
    services.reply(run.task, owner, "yes")
    assert run.advance().state == "done"
    assert "new.txt" in run.results()[6][1]


def test_changes_by_a_background_command_allow_a_repetition(worked_off):
    """Files are compared for a read-only call only before it would be refused."""
    later = call("shell", command="for n in $(seq 25); do sleep 0.2; echo $n > n.txt; done", background=True)
    wait = call("shell", command="sleep 0.25")
    run = worked_off(later, *[wait] * 5, wait)
    assert "blocked" not in [status for status, _ in run.results()]


def test_a_cycle_with_changing_results_is_no_loop(worked_off):
    step = call("shell", command="echo x >> log.txt")
    run = worked_off(*[step, call("shell", command="wc -l log.txt")] * 5)
    assert "cycle" not in [entry.metadata.get("kind") for entry in run.entries]


# --- loops ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rest", ["", "; sleep 100 &"])
def test_the_duration_of_a_command_does_not_matter_for_loops(play, rest):
    run = play(*[call("shell", command=f"sleep 0.$((RANDOM % 3)); echo same{rest}")] * 12)
    assert run.advance().failure_code == "tool_loop"
    assert [status for status, _ in run.results()] == ["succeeded"] * 5 + ["blocked"] * 3


def test_a_refusal_quotes_the_last_result(play):
    run = play(*[call("shell", command="echo only this")] * 6, result())
    assert run.advance().state == "done"
    status, content = run.results()[5]
    assert status == "blocked"
    assert content.startswith("Refused: the same call")
    assert "\nonly this\n[exit code 0" in content


def test_refusals_do_not_end_a_task_with_successful_calls(worked_off):
    others = [call("file", action="write", path=f"{n}.txt", content="x") for n in range(3)]
    looks = [call("match", action="glob", pattern=f"{n}*") for n in range(4)]
    run = worked_off(*[READ] * 5, *[step for look in looks for step in (READ, look)], *others)
    assert [status for status, _ in run.results()].count("blocked") == 4


def test_writing_the_same_content_is_no_change(play):
    write = call("file", action="write", path="a.txt", content="x")
    run = play(*[write] * 12)
    assert run.advance().failure_code == "tool_loop"


@pytest.mark.parametrize("seed", range(4))
def test_random_work_is_refused_only_by_the_rule(worked_off, seed):
    """The rule by its definition, over real results and files."""
    chosen = random.Random(seed)
    write = {n: call("file", action="write", path="a.txt", content=f"{n}") for n in range(2)}
    calls = [READ, LIST, call("shell", command="cat a.txt"), *write.values()]
    plan = [write[0], *chosen.choices(calls, weights=[8, 1, 8, 1, 1], k=40)]
    run = worked_off(*plan, max_iterations=80, may_fail=True)
    done, content, changed = [], "", 0  # each: call, shown, refused, changes of others or by itself before it
    for step, (status, text) in zip(plan, run.results(), strict=False):
        same = [one for one in done[-20:] if one[0] == step and not one[2]][-5:]
        repeats = len(same) == 5 and len({one[1] for one in same}) == 1 and all(one[3] == changed for one in same)
        assert (status == "blocked") == repeats
        is_new = all(one[0] != step for one in done)
        if is_new and step not in (READ, LIST):  # a new call may change anything
            changed += 1
        done.append((step, text.partition("[exit")[0], repeats, changed))
        if not repeats and step in write.values() and step["arguments"]["content"] != content:
            content = step["arguments"]["content"]
            changed += 1
    assert any(repeats for *_, repeats, _ in done)
