"""Models and tools of a user, and the user's usage."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal

from django.contrib.auth.models import Group

from llm_app.budgets import Allowance, CallSize
from llm_app.models import Budget
from tests import factories
from tools_app.models import McpServer, McpTool, RolePolicy, ToolSetting, UserPolicy

BUDGET = ("scope", "name", "period", "unit", "limit", "spent", "reserved", "left", "renews_at", "unpriced_calls")


def results(program, path):
    page = program.call("GET", path).json()
    assert (page["next"], page["previous"]) == (None, None)
    return page["results"]


def test_models_with_a_provider_are_listed(alices, session):
    factories.LogicalModelFactory(name="without a route")
    factories.RouteFactory(model__name="switched off", provider__enabled=False)
    model = session.model
    factories.RouteFactory(model=model)
    expected = {"name": model.name, "context_window": 128_000, "is_default": False, "works": None, "checked_at": None}
    assert results(alices, "models/") == [expected]


def test_model_works_if_the_last_call_of_a_provider_succeeded(alices):
    model = factories.LogicalModelFactory()
    first, second = (factories.RouteFactory(model=model, priority=number) for number in (1, 2))
    outcomes = []
    for route, status in ((first, "succeeded"), (first, "failed"), (second, "failed")):
        values = {"provider": route.provider.name, "provider_model": route.provider_model, "status": status}
        log = factories.log(error_type="ServerError" if status == "failed" else "", **values)
        found = next(row for row in results(alices, "models/") if row["name"] == model.name)
        outcomes.append(found["works"])
        assert found["checked_at"].startswith(f"{log.created_at:%Y-%m-%dT%H:%M:%S}")
    assert outcomes == [True, None, False]  # the second one was not called before the last call


def test_tools_have_schema_and_danger(alices):
    tools = {tool["name"]: tool for tool in results(alices, "tools/")}
    assert {"message", "file", "match", "fetch_url"} <= set(tools)
    assert set(tools["match"]) == {"name", "description", "parameters", "danger"}
    assert tools["match"]["danger"] == "safe"
    assert "pattern" in tools["match"]["parameters"]["properties"]


def test_tools_of_mcp_servers_are_listed(alices):
    server = McpServer.objects.create(name="notes", transport="stdio", command=["x"])
    McpTool.objects.create(server=server, name="add", schema='{"type": "object"}', digest="1", confirmed="1")
    McpTool.objects.create(server=server, name="held", schema="{}", digest="2", confirmed="1")
    tools = {tool["name"]: tool["danger"] for tool in results(alices, "tools/")}
    assert tools["notes__add"] == "moderate"
    assert "notes__held" not in tools


def test_tools_depend_on_the_user(alices, alice, program, bob):
    analysts = Group.objects.create(name="analysts")
    RolePolicy.objects.create(role=analysts, deny=["file"])
    alice.groups.add(analysts)
    assert "file" not in {tool["name"] for tool in results(alices, "tools/")}
    assert "file" in {tool["name"] for tool in results(program(bob), "tools/")}


def test_tool_denied_to_a_user_is_not_listed(alices, alice, program, bob):
    UserPolicy.objects.create(user=alice, deny=["file"])
    assert "file" not in {tool["name"] for tool in results(alices, "tools/")}
    assert "file" in {tool["name"] for tool in results(program(bob), "tools/")}


def test_danger_set_by_administrators_is_shown(alices):
    ToolSetting.objects.create(name="match", danger="dangerous")
    ToolSetting.objects.create(name="file", enabled=False)
    tools = {tool["name"]: tool["danger"] for tool in results(alices, "tools/")}
    assert (tools["match"], "file" in tools) == ("dangerous", False)


def test_usage_sums_the_users_own_tasks_by_day(alices, alice, session, carol):
    today = datetime.now(UTC)
    for days, tokens in ((0, 10), (0, 20), (3, 40), (29, 80), (45, 160)):
        used(session, alice, today - timedelta(days=days), tokens)
    used(session, carol, today, 1000)
    report = alices.call("GET", "usage/").json()
    assert report["total"] == {
        "input_tokens": 310,
        "cached_tokens": 0,
        "output_tokens": 0,
        "thinking_tokens": 0,
        "cost_usd": 0.5,
        "unpriced_calls": 0,
        "tasks": 5,
    }
    days = [(day["date"], day["input_tokens"], day["tasks"]) for day in report["days"]]
    assert len(days) == 30
    assert days[-1] == (str(today.date()), 30, 2)
    assert [day[1:] for day in days if day[1]] == [(80, 1), (40, 1), (30, 2)]
    assert report["budgets"] == []


def test_usage_includes_deleted_sessions(alices, alice, session):
    used(session, alice, datetime.now(UTC), 10)
    before = alices.call("GET", "usage/").json()
    assert alices.call("DELETE", f"sessions/{session.pk}/").status_code == 204
    assert alices.call("GET", "usage/").json() == before


def test_usage_shows_the_rest_of_each_budget(alices, alice, session):
    analysts = Group.objects.create(name="analysts")
    alice.groups.add(analysts)
    Budget.objects.create(user=alice, usd_per_day=2, tokens_per_task=500)
    Budget.objects.create(role=analysts, tokens_per_month=100)
    Budget.objects.create(usd_per_month="0.05")
    used(session, alice, datetime.now(UTC), 30)
    Allowance(alice.pk).reserve(CallSize(request_bytes=30, max_tokens=10, price={}))
    tomorrow = datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0) + timedelta(days=1)
    budgets = alices.call("GET", "usage/").json()["budgets"]
    month = budgets[2]["renews_at"]
    assert budgets == [
        budget("user", "alice", "task", "tokens", 500, 0, 0, 500, None),
        budget("user", "alice", "day", "usd", 2, 0.1, 0, 1.9, f"{tomorrow:%Y-%m-%dT00:00:00Z}"),
        budget("role", "analysts", "month", "tokens", 100, 30, 20, 50, month),
        budget("system", "", "month", "usd", 0.05, 0.1, 0, 0, month),
    ]


def test_unpriced_calls_are_counted_without_cost(alices, alice):
    Budget.objects.create(user=alice, usd_per_day=2)
    factories.log(user_id=alice.pk, input_tokens=5)
    report = alices.call("GET", "usage/").json()
    assert (report["total"]["cost_usd"], report["total"]["unpriced_calls"]) == (None, 1)
    assert report["days"][-1]["cost_usd"] is None
    assert [budget["unpriced_calls"] for budget in report["budgets"]] == [1]


def test_usage_is_zero_without_tasks(alices):
    report = alices.call("GET", "usage/").json()
    assert (report["total"]["input_tokens"], report["total"]["cost_usd"], report["total"]["tasks"]) == (0, None, 0)
    assert {day["tasks"] for day in report["days"]} == {0}


def budget(*values):
    return dict(zip(BUDGET, (*values, 0), strict=True))


def used(session, user, when, tokens):
    task = factories.TaskFactory(session=session, started_by=user, state="done", final_result={}, ended_at=when)
    factories.log(user_id=user.pk, task_id=task.pk, input_tokens=tokens, cost_usd=Decimal("0.1"), at=when)
