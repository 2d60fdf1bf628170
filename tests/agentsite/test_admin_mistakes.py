"""Mistakes in forms of the admin are explained in a sentence, and an empty field is an empty value."""

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from llm_app.models import LogicalModel, Secret
from tasks_app.models import Limits, TraceSink
from tests import factories
from tools_app.models import McpServer, Skill

pytestmark = pytest.mark.django_db


def save(browser: Client, row: Any, **fields: Any) -> str:
    """Post the form of a row with these fields changed, and return its errors."""
    address = reverse(f"admin:{row._meta.app_label}_{row._meta.model_name}_change", args=[row.pk])
    page = browser.get(address).context
    forms = [inline.formset.management_form for inline in page["inline_admin_formsets"]]
    bound = [field for form in [page["adminform"].form, *forms] for field in form]
    shown = {field.html_name: field.value() for field in bound if field.value() is not None}
    answer = browser.post(address, {name: value for name, value in shown.items() if value is not False} | fields)
    return "" if answer.status_code == 302 else str(answer.context["errors"])


def test_the_default_model_stays_one_of_text(browser: Client) -> None:
    model = factories.LogicalModelFactory(is_default=True)
    assert "make another one the default first" in save(browser, model, kind="image")
    assert LogicalModel.objects.get().kind == "text"


def test_the_default_model_is_not_deleted(browser: Client) -> None:
    model = factories.LogicalModelFactory(is_default=True)
    address = reverse("admin:llm_app_logicalmodel_delete", args=[model.pk])
    assert "make another one the default first" in browser.get(address).content.decode()
    browser.post(address, {"post": "yes"})
    assert LogicalModel.objects.exists()


@pytest.mark.parametrize("address", ["http://[::1", "http://llm:abc/v1", "http://llm:99999"])
def test_a_provider_has_an_address(address: str, browser: Client) -> None:
    provider = factories.ProviderFactory(base_url="http://llm")
    assert "This is no address" in save(browser, provider, breaker="{}", base_url=address)


@pytest.mark.parametrize("field", ["max_iterations", "tool_loop_window", "tool_call_limit"])
def test_a_limit_leaves_room_for_something(field: str, browser: Client) -> None:
    limits = Limits.objects.create(pk=1)
    assert "at least 1" in save(browser, limits, **{field: "0"})


@pytest.mark.parametrize("field", ["timeout_s", "total_timeout_s"])
@pytest.mark.parametrize("value", ["0", "-1", "1e308", "NaN"])
def test_a_provider_is_waited_for_a_time_that_ends(field: str, value: str, browser: Client) -> None:
    provider = factories.ProviderFactory(base_url="http://llm")
    assert field in save(browser, provider, breaker="{}", **{field: value})


@pytest.mark.parametrize("value", ['{"cooldown_s": 1e12}', '{"cooldown_s": Infinity}', '{"window": 2.5}'])
def test_a_breaker_can_always_open(value: str, browser: Client) -> None:
    """Both the end of its cooldown and its number of calls must be possible values."""
    provider = factories.ProviderFactory(base_url="http://llm")
    assert "cooldown_s (seconds, above 0, at most" in save(browser, provider, breaker=value)


@pytest.mark.parametrize("field", ["extra_body", "quirks"])
@pytest.mark.parametrize("number", ["Infinity", "1e999", "NaN"])
def test_the_numbers_of_a_route_are_those_of_json(number: str, field: str, browser: Client) -> None:
    value = f'{{"input": {number}, "output": 1}}'
    assert "are no JSON numbers" in save(browser, factories.RouteFactory(), **{field: value})


@pytest.mark.parametrize("value", ["[" * 90_000, "9" * 5_000, '"' + "x" * 100_000 + '"'], ids=["deep", "long", "large"])
def test_json_that_cannot_be_taken_is_an_error_of_its_field(value: str, browser: Client) -> None:
    assert save(browser, factories.RouteFactory(), extra_body=value)
    assert save(browser, McpServer.objects.create(name="notes", transport="stdio", command=["x"]), command=value)


def test_its_texts_can_be_stored_anywhere(browser: Client) -> None:
    said = save(browser, factories.RouteFactory(), extra_body='{"user": "\\u0000"}')
    assert "A NUL character cannot be stored" in said


@pytest.mark.parametrize("value", ["[1]", '"x"', "1", '{"A": 1}', '{"A": {}}', '{"A": "\\u0000"}', "NaN"])
@pytest.mark.parametrize("field", ["environment", "headers"])
def test_what_an_mcp_server_gets_are_names_and_texts(field: str, value: str, browser: Client) -> None:
    server = McpServer.objects.create(name="notes", transport="stdio", command=["x"])
    assert "Write names and values as an object" in save(browser, server, command='["x"]', **{field: value})


@pytest.mark.parametrize("empty", ["", "null", "{}", "[]"])
def test_an_mcp_server_may_have_empty_fields(empty: str, browser: Client) -> None:
    server = McpServer.objects.create(name="notes", transport="streamable_http", url="http://notes", command=["x"])
    fields = dict.fromkeys(["command", "environment", "headers", "loop_exempt"], empty)
    assert save(browser, server, **fields) == ""
    server.refresh_from_db()
    assert (server.command, server.environment, server.headers, server.loop_exempt) == ([], {}, {}, [])


@pytest.mark.parametrize("empty", ["", "null", "[]"])
def test_a_trace_sink_without_types_of_events_gets_all(empty: str, browser: Client) -> None:
    sink = TraceSink.objects.create(name="sink", kind="file", events=["plan"])
    assert save(browser, sink, events=empty) == ""
    sink.refresh_from_db()
    assert sink.events == []


@pytest.mark.parametrize("name", ["<script>", "two words", "swordfish-7781"])
def test_a_secret_keeps_a_name_that_may_be_shown(name: str, browser: Client) -> None:
    """In the last case, the name is the value."""
    secret = Secret.objects.create(name="TOKEN", value="swordfish-7781")
    assert "name" in save(browser, secret, name=name)
    assert save(browser, secret, name="KEY") == ""
    secret.refresh_from_db()
    assert (secret.name, secret.value) == ("KEY", "swordfish-7781")


@pytest.mark.parametrize("name", ["../..", "Weekly Report", "a--b", "x<y"])
def test_a_skill_written_by_hand_is_named_as_an_uploaded_one(name: str, browser: Client) -> None:
    skill = Skill.objects.create(name="weekly", description="Does it.", body="Do it.")
    assert "small letters" in save(browser, skill, name=name)
    assert save(browser, skill, name="weekly-report") == ""


@pytest.mark.parametrize(("field", "value"), [("context_window", "0"), ("max_tokens", "0"), ("input_price", "1e9")])
def test_a_route_has_room_and_a_price_that_can_be_added_up(field: str, value: str, browser: Client) -> None:
    assert field in save(browser, factories.RouteFactory(), **{field: value})
