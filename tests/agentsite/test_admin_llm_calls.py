"""The admin's list of LLM calls: failures with their kind, provider, user and price."""

from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from llm_app.models import LLMLog
from tasks_app.models import Task
from tests.agentsite import installation

LIST = "/admin/llm_app/llmlog/"


@pytest.fixture
def task(db: None) -> Task:
    return installation.add_more()


def listed(browser: Client, **query: Any) -> list[str]:
    answer = browser.get(LIST, query)
    return sorted(str(log.error_type) for log in answer.context["cl"].result_list)


def add(**fields: Any) -> LLMLog:
    log = LLMLog.objects.first()
    assert log is not None
    log.pk, log._state.adding = None, True
    log.pk = LLMLog._meta.pk.get_default()
    for name, value in fields.items():
        setattr(log, name, value)
    log.save()
    return log


def test_failed_calls_are_filtered_by_kind_of_failure(task: Task, browser: Client) -> None:
    add(status="failed", error_type="ServerError", provider="one")
    add(status="failed", error_type="Overloaded", provider="two")
    assert listed(browser, error_type="Overloaded") == ["Overloaded"]
    assert listed(browser, status="failed") == ["Overloaded", "ServerError"]
    assert listed(browser, provider="one") == ["ServerError"]
    assert "failed: Overloaded" in browser.get(LIST).content.decode()


def test_filter_choices_are_found_without_reading_all_calls(task: Task, browser: Client) -> None:
    with CaptureQueriesContext(connection) as captured:
        page = browser.get(LIST, {"model": "long-gone"}).content.decode()
    assert not [query["sql"] for query in captured if "DISTINCT" in query["sql"]]
    for offered in ("error_type=CircuitOpen", "purpose=summary", "model=long-gone", "adapter=openai_xml"):
        assert offered in page


def test_calls_are_found_by_text_of_their_failure(task: Task, browser: Client) -> None:
    add(status="failed", error_type="BadRequest", error="HTTP 400: tools are not supported")
    assert listed(browser, q="not supported") == ["BadRequest"]
    assert listed(browser, q=str(task.pk)) == ["", "BadRequest"]
    assert listed(browser, q=str(task.pk).replace("-", "")[:-1]) == []


def test_call_page_shows_user_usage_and_request(task: Task, browser: Client) -> None:
    log = add(user_id=task.started_by_id, input_tokens=1234, cost_usd="0.0125", first_delta_ms=800, duration_ms=2_500)
    page = browser.get(f"{LIST}{log.pk}/change/").content.decode()
    for shown in (
        task.started_by.username,
        "1234",
        "0.0125",
        "0.8 s",
        "2.5 s",
        log.request_sha256,
        log.system_blob[:12],
    ):
        assert shown in page


def test_calls_are_read_only(task: Task, browser: Client) -> None:
    log = add()
    assert browser.post(f"{LIST}{log.pk}/change/", {"status": "failed"}).status_code == 403
