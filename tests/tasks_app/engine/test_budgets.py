"""Tasks under budgets: they wait, or end with a sentence, and all usage is counted."""

from unittest.mock import patch

import pytest
from django.contrib.auth.models import Group
from django.db import connection
from django.test.utils import CaptureQueriesContext

from llm_app.budgets import Allowance, CallSize
from llm_app.call import attempt
from llm_app.models import Budget, LLMLog, Reservation, Route, Spending
from tasks_app import services
from tasks_app.engine import run_tool
from tasks_app.worker import jobs
from tests.provider import Reply, openai_call, openai_result
from tests.tasks_app.engine.conftest import call, result
from tests.tasks_app.engine.test_crashes import crash
from tests.waiting import takes_less_than, until

LOOK = call("plan", action="advance")
TABLES = ("budgets", "spending", "reservations")
LARGE = CallSize(request_bytes=3_000_000, max_tokens=0, price={})


@pytest.fixture(autouse=True)
def _impatient(monkeypatch):
    monkeypatch.setattr(attempt, "SHORTEST_WAIT", 0.05)
    monkeypatch.setattr(attempt, "LONGEST_WAIT", 0.05)


@pytest.fixture
def commits():
    """Count transactions that write, from now on."""
    count, of_transactions = [], connection.commit

    def watch(execute, sql, params, many, context):
        if sql[:6] in ("INSERT", "UPDATE", "DELETE") and not connection.in_atomic_block:
            count.append(sql)
        return execute(sql, params, many, context)

    def commit():
        count.append("COMMIT")
        of_transactions()

    with connection.execute_wrapper(watch), patch.object(connection, "commit", commit):
        yield count


def budget(**limits):
    return Budget.objects.create(**limits)


# --- the end ----------------------------------------------------------------------------------------------------


def test_a_spent_budget_ends_the_task_and_names_its_renewal(play, owner):
    budget(user=owner, tokens_per_day=1)
    task = play(LOOK, LOOK, result()).advance()
    assert (task.state, task.failure_code, task.iteration) == ("failed", "budget_exceeded", 1)
    assert task.failure_detail.startswith("The budget of the user olga, 1 tokens a day, is spent. It is renewed on ")
    assert not Reservation.objects.exists()


def test_the_next_task_of_the_day_does_not_begin_to_think(play, owner):
    budget(user=owner, tokens_per_day=1)
    play(result()).advance()
    again = play(result()).advance()
    assert (again.failure_code, again.input_tokens) == ("budget_exceeded", 0)


def test_a_budget_of_each_task_leaves_the_next_task_its_own(play, owner):
    budget(user=owner, tokens_per_task=1)
    assert play(LOOK, result()).advance().failure_code == "budget_exceeded"
    assert play(result()).advance().state == "done"


def test_the_members_of_a_role_share_its_budget(play, owner, alice):
    role = Group.objects.create(name="analysts")
    for user in (owner, alice):
        user.groups.add(role)
    budget(role=role, tokens_per_month=1)
    play(result()).advance()
    with pytest.raises(Exception, match="The budget of the role analysts, 1 tokens a month, is spent"):
        Allowance(alice.pk).reserve(LARGE)


def test_a_changed_budget_applies_from_the_next_step(play, owner, monkeypatch):
    run = play(LOOK, LOOK, LOOK, result())
    record = run_tool.record

    def then_set_a_budget(*arguments):
        Budget.objects.get_or_create(user=owner, defaults={"tokens_per_day": 1})
        return record(*arguments)

    monkeypatch.setattr(run_tool, "record", then_set_a_budget)
    task = run.advance()
    assert (task.failure_code, task.iteration) == ("budget_exceeded", 1)


def test_a_budget_in_usd_binds_where_a_price_is_known(play, owner):
    budget(user=owner, usd_per_day="0.0001")
    assert play(LOOK, LOOK, result()).advance().state == "done"
    Route.objects.update(price={"input": 1, "output": 1})
    assert play(LOOK, LOOK, result()).advance().failure_code == "budget_exceeded"


# --- waiting ----------------------------------------------------------------------------------------------------


def test_a_task_waits_for_reservations_of_others_to_settle(play, owner):
    budget(tokens_per_day=1_000_000)
    other = Allowance(None)
    other.reserve(LARGE)
    run = play(result())
    thread = run.in_thread()
    until(lambda: "status_notice" in run.types, 30)
    assert run.entries[-1].content == (
        "Waiting: what is left of the budget of this server, 1,000,000 tokens a day, "
        "is reserved for calls that run at the moment."
    )
    assert not LLMLog.objects.exists()
    other.release()
    thread.join(30)
    run.task.refresh_from_db()
    assert run.task.state == "done"
    assert run.types.count("status_notice") == 1


def test_a_stop_ends_the_wait(play, owner):
    budget(tokens_per_day=1_000_000)
    Allowance(None).reserve(LARGE)
    run = play(result())
    thread = run.in_thread()
    until(lambda: "status_notice" in run.types, 30)
    with takes_less_than(1):
        services.stop(run.task)
        thread.join(30)
    run.task.refresh_from_db()
    assert (run.task.failure_code, LLMLog.objects.count()) == ("stopped", 0)


def test_a_message_ends_the_wait_and_is_read(play, owner):
    budget(tokens_per_day=1_000_000)
    other = Allowance(None)
    other.reserve(LARGE)
    run = play(result())
    thread = run.in_thread()
    until(lambda: "status_notice" in run.types, 30)
    services.post_message(run.task.session, owner, "And quickly.")
    until(lambda: "And quickly." in [entry.content for entry in run.entries], 30)
    other.release()
    thread.join(30)
    run.task.refresh_from_db()
    assert run.task.state == "done"


# --- what it used -----------------------------------------------------------------------------------------------


def test_the_counters_match_the_usage_of_the_calls(play, owner):
    budget(user=owner, tokens_per_day=10**9, tokens_per_task=10**9)
    task = play(LOOK, call("nothing"), "No call.", result()).advance()
    assert task.state == "done"
    used = task.input_tokens + task.output_tokens
    assert {row.tokens for row in Spending.objects.all()} == {used}
    assert sum(log.input_tokens + log.output_tokens for log in LLMLog.objects.all()) == used


def test_deleting_a_session_gives_nothing_back(play, owner):
    budget(user=owner, tokens_per_day=1)
    run = play(result())
    run.advance()
    services.delete_session(run.task.session)
    assert Spending.objects.get().tokens > 1
    assert LLMLog.objects.filter(user_id=owner.pk).exists()


def test_a_stream_that_breaks_off_is_counted_by_an_estimate(ask_http, http_provider, owner):
    budget(user=owner, tokens_per_day=10**9)
    http_provider.replies = [
        openai_call("message", {"type": "result", "text": "Half of"}, pieces=5, cut=True),
        openai_result(),
    ]
    task = ask_http().advance()
    cut, answered = LLMLog.objects.order_by("created_at")
    assert (cut.usage_estimated, answered.usage_estimated) == (True, False)
    assert cut.input_tokens == len(http_provider.received[0].raw) // 3
    assert cut.output_tokens >= 5
    assert task.input_tokens == cut.input_tokens + 100
    assert Spending.objects.get().tokens == task.input_tokens + task.output_tokens


def test_an_interrupted_call_is_counted_by_an_estimate(ask_http, http_provider, owner):
    budget(user=owner, tokens_per_day=10**9)
    http_provider.replies = [openai_result(stall_at=2)]
    run = ask_http()
    thread = run.in_thread()
    assert http_provider.stalling.wait(10)
    services.stop(run.task)
    thread.join(30)
    run.task.refresh_from_db()
    assert run.task.input_tokens == len(http_provider.received[0].raw) // 3
    assert Spending.objects.get().tokens == run.task.input_tokens + run.task.output_tokens


def test_a_refused_request_costs_nothing(ask_http, http_provider, owner):
    budget(user=owner, tokens_per_day=10**9)
    http_provider.replies = [Reply(status=400)]
    task = ask_http().advance()
    assert (task.input_tokens, Spending.objects.get().tokens, Reservation.objects.count()) == (0, 0, 0)


def test_a_stream_that_begins_with_an_error_costs_nothing(ask_http, http_provider, owner):
    budget(user=owner, tokens_per_day=10**9)
    error = Reply(chunks=[b'data: {"error": {"message": "The request is refused.", "code": 400}}\n\n'])
    http_provider.replies = [error]
    task = ask_http().advance()
    assert (task.input_tokens, Spending.objects.get().tokens, Reservation.objects.count()) == (0, 0, 0)


def test_a_provider_that_never_counts_is_counted_by_an_estimate(ask_http, http_provider, owner):
    silent = openai_result()
    silent.chunks = [chunk.replace(b'"usage"', b'"none"') for chunk in silent.chunks]
    http_provider.replies = [silent]
    task = ask_http().advance()
    assert task.input_tokens == len(http_provider.received[0].raw) // 3
    assert LLMLog.objects.get().usage_estimated


def test_a_call_is_counted_despite_a_later_server_error(play, owner, monkeypatch):
    budget(user=owner, tokens_per_day=10**9)
    monkeypatch.setattr("tasks_app.engine.check_call.check", lambda *_: 1 / 0)
    task = play(result()).advance()
    assert task.failure_code == "internal"
    assert Spending.objects.get().tokens == task.input_tokens + task.output_tokens > 0


# --- a dead worker ----------------------------------------------------------------------------------------------


def test_a_crash_leaves_nothing_reserved(play, owner, monkeypatch):
    budget(user=owner, tokens_per_day=10**9)
    run = play(LOOK, result())
    crash(run, monkeypatch, jobs.loop, "finalize")
    Allowance(owner.pk, run.task.pk).reserve(LARGE)  # the reservation of the interrupted call
    assert run.advance().state == "done"
    assert not Reservation.objects.exists()


def test_nothing_stays_reserved_while_a_task_waits_for_a_person(play, owner):
    budget(user=owner, tokens_per_day=10**9)
    run = play(LOOK, call("message", type="ask", text="?"), result())
    assert run.advance().waiting_for == "reply"
    assert not Reservation.objects.exists()


def test_nothing_stays_reserved_when_the_time_slice_is_over(play, owner, monkeypatch):
    budget(user=owner, tokens_per_day=10**9)
    monkeypatch.setattr(jobs.loop, "TIME_SLICE", 0.0001)
    run = play(LOOK, LOOK, result())
    assert run.advance().state == "thinking"
    assert not Reservation.objects.exists()
    while run.advance().is_active:
        pass
    assert run.task.state == "done"


# --- two commits an iteration -----------------------------------------------------------------------------------


@pytest.mark.parametrize("limits", [{}, {"tokens_per_day": 10**9, "usd_per_month": 10**6, "tokens_per_task": 10**9}])
def test_an_iteration_has_two_commits_with_and_without_budgets(limits, play, owner, commits):
    if limits:
        budget(user=owner, **limits)
        budget(**limits)
    play(result()).advance()  # blobs and counters are stored once
    counts = []
    for steps in (2, 6):
        commits.clear()
        assert (
            play(*[call("file", action="list", path=f"{n}") for n in range(steps)], result()).advance().state == "done"
        )
        counts.append(len(commits))
    assert counts[1] - counts[0] == 4 * 2


def test_without_a_budget_there_is_one_query_a_run_for_it(play):
    run = play(LOOK, LOOK, result())
    with CaptureQueriesContext(connection) as queries:
        assert run.advance().iteration == 3
    asked = [query["sql"] for query in queries if any(f'"{table}"' in query["sql"] for table in TABLES)]
    assert len(asked) == 1
    assert all('FROM "budgets"' in sql for sql in asked)
