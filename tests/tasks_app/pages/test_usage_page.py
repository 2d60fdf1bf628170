"""The usage page: calls by day, and the rest of each budget."""

from datetime import timedelta

from django.contrib.auth.models import Group
from django.utils import timezone

from llm_app.models import Budget
from tasks_app.models import ToolCallLog
from tests import factories


def test_calls_are_summed_by_day(alices, alice, bob):
    task = factories.TaskFactory(session__owner=alice)
    for days, tokens in ((0, 1000), (0, 500), (3, 10_000), (90, 999)):
        when = timezone.now() - timedelta(days=days)
        factories.log(user_id=alice.pk, task_id=task.pk, input_tokens=tokens, output_tokens=1, cost_usd="0.5", at=when)
    factories.log(user_id=bob.pk, input_tokens=77_777)
    response = alices.get("/usage/")
    rows = [(day["tasks"], day["input_tokens"], day["tokens"]) for day in response.context["days"]]
    assert rows == [(1, 1500, 1502), (1, 10_000, 10_001)]
    assert response.context["total"]["input_tokens"] == 12_499
    page = response.content.decode()
    assert "$2.00" in page
    assert 'max="10001" value="1502"' in page


def test_calls_without_a_price_are_named(alices, alice):
    Budget.objects.create(user=alice, usd_per_day=2)
    factories.log(user_id=alice.pk, model="local", input_tokens=5)
    page = alices.page("/usage/")
    assert "<td>no price</td>" in page
    assert "<td>1 call without a price</td>" in page  # spent of the budget, instead of $0.00
    assert "$0.00</td><td>$0.00" not in page


def test_sum_names_the_calls_without_a_price(alices, alice):
    factories.log(user_id=alice.pk, input_tokens=5, cost_usd="0.5")
    for _ in range(2):
        factories.log(user_id=alice.pk, input_tokens=5)
    assert "<td>$0.5000 + 2 calls without a price</td>" in alices.page("/usage/")


def test_session_reports_an_unknown_cost(alices, session):
    factories.TaskFactory(session=session, input_tokens=2000)
    page = alices.page(session.get_absolute_url())
    assert "<dt>Cost</dt>" in page
    assert "no price</dd>" in page


def test_task_cost_names_the_calls_without_a_price(alices, alice, session):
    task = factories.TaskFactory(session=session, input_tokens=2000, cost_usd=0)
    used = {"user_id": alice.pk, "task_id": task.pk, "input_tokens": 5}
    factories.log(**used, cost_usd=0)  # the title, by a local model that costs nothing
    factories.log(**used)
    assert "<dd>$0.00 + 1 call without a price</dd>" in alices.page(session.get_absolute_url())


def test_page_without_usage(alices):
    page = alices.page("/usage/")
    assert "No task yet." in page
    assert "What is left" not in page


def test_page_shows_the_rest_of_each_budget(alices, alice):
    role = Group.objects.create(name="analysts")
    alice.groups.add(role)
    Budget.objects.create(user=alice, usd_per_day=2, tokens_per_task=5000)
    Budget.objects.create(role=role, tokens_per_month=100_000)
    factories.log(user_id=alice.pk, input_tokens=24_000, output_tokens=1000, cost_usd="0.5")
    page = " ".join(alices.page("/usage/").split())
    assert '<th scope="row">Today</th><td class="bar-cell"><progress aria-hidden="true" max="1" value="0.25">' in page
    assert "<td>$0.5000</td><td>$0.00</td><td>$1.50</td><td>$2.00</td>" in page
    assert '<th scope="row">This month, role analysts</th>' in page
    assert "<td>25.0k tokens</td><td>0 tokens</td><td>75.0k tokens</td><td>100.0k tokens</td>" in page
    assert '<th scope="row">Each task</th>' in page


def test_session_shows_the_rest_only_to_its_starter(alices, alice, browser, bob, session):
    Budget.objects.create(user=alice, usd_per_day=2, tokens_per_task=5000)
    task = factories.TaskFactory(session=session)
    factories.log(user_id=alice.pk, task_id=task.pk, input_tokens=2000, cost_usd="0.5")
    page = alices.page(session.get_absolute_url())
    assert "<dt>Left today</dt><dd>$1.50 <small>of $2.00</small></dd>" in page
    assert "<dt>Left for this task</dt><dd>3.0k tokens <small>of 5.0k tokens</small></dd>" in page
    assert "Left today" not in browser(bob).page(session.get_absolute_url())


def test_page_has_a_chart_and_usage_by_model_and_tool(alices, alice, bob):
    task = factories.TaskFactory(session__owner=alice)
    factories.log(user_id=alice.pk, model="large", input_tokens=3000, output_tokens=1000)
    factories.log(user_id=alice.pk, model="small", input_tokens=10)
    factories.log(user_id=bob.pk, model="bobs", input_tokens=10)
    for number, status in enumerate(("succeeded", "failed")):
        ToolCallLog.objects.create(
            task=task, session_id=task.session_id, call_id=f"c{number}", name="shell", status=status, duration_ms=1500
        )
    response = alices.get("/usage/")
    newest = response.context["bars"][-1]
    assert (len(response.context["bars"]), newest["in"], newest["out"]) == (30, 75.06, 24.94)
    page = response.content.decode()
    assert '<rect class="in" x="580" y="24.94" width="18" height="75.06" />' in page
    assert [row["model"] for row in response.context["models"]] == ["large", "small"]
    assert '<th scope="row">shell</th><td>2</td><td>1</td><td>3.0 s</td>' in page
    assert "bobs" not in page
