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


def test_default_model_must_stay_a_text_model(browser: Client) -> None:
    model = factories.LogicalModelFactory(is_default=True)
    assert "make another one the default first" in save(browser, model, kind="image")
    assert LogicalModel.objects.get().kind == "text"


def test_default_model_cannot_be_deleted(browser: Client) -> None:
    model = factories.LogicalModelFactory(is_default=True)
    address = reverse("admin:llm_app_logicalmodel_delete", args=[model.pk])
    assert "make another one the default first" in browser.get(address).content.decode()
    browser.post(address, {"post": "yes"})
    assert LogicalModel.objects.exists()


@pytest.mark.parametrize("address", ["http://[::1", "http://llm:abc/v1", "http://llm:99999"])
def test_provider_needs_an_address(address: str, browser: Client) -> None:
    provider = factories.ProviderFactory(base_url="http://llm")
    assert "This is no address" in save(browser, provider, breaker="{}", base_url=address)


@pytest.mark.parametrize("field", ["max_iterations", "tool_loop_window", "tool_call_limit"])
def test_limit_must_be_positive(field: str, browser: Client) -> None:
    limits = Limits.objects.create(pk=1)
    assert "at least 1" in save(browser, limits, **{field: "0"})


@pytest.mark.parametrize("field", ["timeout_s", "total_timeout_s"])
@pytest.mark.parametrize("value", ["0", "-1", "1e308", "NaN"])
def test_provider_timeout_must_be_finite(field: str, value: str, browser: Client) -> None:
    provider = factories.ProviderFactory(base_url="http://llm")
    assert field in save(browser, provider, breaker="{}", **{field: value})


@pytest.mark.parametrize("value", ['{"cooldown_s": 1e12}', '{"cooldown_s": Infinity}', '{"window": 2.5}'])
def test_breaker_thresholds_must_be_possible(value: str, browser: Client) -> None:
    """Both the end of its cooldown and its number of calls must be possible values."""
    provider = factories.ProviderFactory(base_url="http://llm")
    assert "cooldown_s (seconds, above 0, at most" in save(browser, provider, breaker=value)


@pytest.mark.parametrize("field", ["extra_body", "quirks"])
@pytest.mark.parametrize("number", ["Infinity", "1e999", "NaN"])
def test_route_numbers_must_be_valid_json(number: str, field: str, browser: Client) -> None:
    value = f'{{"input": {number}, "output": 1}}'
    assert "are no JSON numbers" in save(browser, factories.RouteFactory(), **{field: value})


@pytest.mark.parametrize("value", ["[" * 90_000, "9" * 5_000, '"' + "x" * 100_000 + '"'], ids=["deep", "long", "large"])
def test_invalid_json_is_an_error_of_its_field(value: str, browser: Client) -> None:
    assert save(browser, factories.RouteFactory(), extra_body=value)
    assert save(browser, McpServer.objects.create(name="notes", transport="stdio", command=["x"]), command=value)


def test_texts_must_be_storable_in_both_databases(browser: Client) -> None:
    said = save(browser, factories.RouteFactory(), extra_body='{"user": "\\u0000"}')
    assert "A NUL character cannot be stored" in said


@pytest.mark.parametrize("value", ["[1]", '"x"', "1", '{"A": 1}', '{"A": {}}', '{"A": "\\u0000"}', "NaN"])
@pytest.mark.parametrize("field", ["environment", "headers"])
def test_mcp_environment_and_headers_must_map_names_to_texts(field: str, value: str, browser: Client) -> None:
    server = McpServer.objects.create(name="notes", transport="stdio", command=["x"])
    assert "Write names and values as an object" in save(browser, server, command='["x"]', **{field: value})


@pytest.mark.parametrize("empty", ["", "null", "{}", "[]"])
def test_mcp_server_fields_can_be_empty(empty: str, browser: Client) -> None:
    server = McpServer.objects.create(name="notes", transport="streamable_http", url="http://notes", command=["x"])
    fields = dict.fromkeys(["command", "environment", "headers", "loop_exempt"], empty)
    assert save(browser, server, **fields) == ""
    server.refresh_from_db()
    assert (server.command, server.environment, server.headers, server.loop_exempt) == ([], {}, {}, [])


@pytest.mark.parametrize("empty", ["", "null", "[]"])
def test_trace_sink_without_event_types_gets_all_events(empty: str, browser: Client) -> None:
    sink = TraceSink.objects.create(name="sink", kind="file", events=["plan"])
    assert save(browser, sink, events=empty) == ""
    sink.refresh_from_db()
    assert sink.events == []


@pytest.mark.parametrize("name", ["<script>", "two words", "swordfish-7781"])
def test_secret_name_must_be_safe_to_show(name: str, browser: Client) -> None:
    """In the last case, the name is the value."""
    secret = Secret.objects.create(name="TOKEN", value="swordfish-7781")
    assert "name" in save(browser, secret, name=name)
    assert save(browser, secret, name="KEY") == ""
    secret.refresh_from_db()
    assert (secret.name, secret.value) == ("KEY", "swordfish-7781")


@pytest.mark.parametrize("name", ["../..", "Weekly Report", "a--b", "x<y"])
def test_skill_name_in_a_form_follows_the_rules_of_uploads(name: str, browser: Client) -> None:
    skill = Skill.objects.create(name="weekly", description="Does it.", body="Do it.")
    assert "small letters" in save(browser, skill, name=name)
    assert save(browser, skill, name="weekly-report") == ""


@pytest.mark.parametrize(("field", "value"), [("context_window", "0"), ("max_tokens", "0"), ("input_price", "1e9")])
def test_route_window_and_price_must_be_in_range(field: str, value: str, browser: Client) -> None:
    assert field in save(browser, factories.RouteFactory(), **{field: value})
