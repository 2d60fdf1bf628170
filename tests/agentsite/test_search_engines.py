"""Search engines in the admin and in the configuration file, with write-only keys."""

from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.test import Client

from agentsite.configuration import ConfigurationError
from llm_app.models import ServiceKey
from tools_app.models import SearchEngine

ADD = "/admin/tools_app/searchengine/add/"
KEY = "tvly-stored-key"


def form(**fields: Any) -> dict[str, Any]:
    return {"name": "main", "kind": "tavily", "enabled": "on", "priority": 1, "base_url": "", "api_key": KEY} | fields


def test_admin_stores_the_key_and_never_shows_it(browser: Client) -> None:
    assert browser.post(ADD, form()).status_code == 302
    engine = SearchEngine.objects.get()
    assert ServiceKey.objects.get(name="search.main").value == KEY
    change = f"/admin/tools_app/searchengine/{engine.pk}/change/"
    for page in ("/admin/tools_app/searchengine/", change):
        assert KEY not in browser.get(page).content.decode()
    assert browser.post(change, form(api_key="", priority=2)).status_code == 302
    assert ServiceKey.objects.get().value == KEY
    assert SearchEngine.objects.get().priority == 2
    assert not LogEntry.objects.filter(change_message__contains=KEY).exists()
    browser.post(f"/admin/tools_app/searchengine/{engine.pk}/delete/", {"post": "yes"})
    assert not ServiceKey.objects.exists()


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"api_key": ""}, "This engine needs a key."),
        ({"kind": "searxng", "api_key": ""}, "SearXNG needs the URL of your server."),
        ({"name": "a b"}, "Enter a valid value."),
    ],
)
def test_admin_reports_missing_fields(browser: Client, fields: dict[str, str], words: str) -> None:
    assert words in browser.post(ADD, form(**fields)).content.decode()
    assert not SearchEngine.objects.exists()


def test_keyless_engine_needs_no_key(browser: Client) -> None:
    assert browser.post(ADD, form(kind="ddgs", api_key="")).status_code == 302


def test_file_creates_and_changes_an_engine(configure: Any) -> None:
    assert configure("search: {provider: tavily, api_key: one}\n") == [
        "search engine tavily: created",
        "search engine tavily: api_key changed",
    ]
    assert configure("search: {provider: tavily, api_key: two}\n") == ["search engine tavily: api_key changed"]
    assert configure("search: {provider: tavily, api_key: two}\n") == []
    assert configure("search: {provider: searxng, base_url: 'http://127.0.0.1:8888'}\n") == [
        "search engine searxng: created"
    ]
    assert SearchEngine.objects.count() == 2


def test_searxng_needs_an_address_in_the_file(configure: Any) -> None:
    with pytest.raises(ConfigurationError, match="base_url is missing"):
        configure("search: {provider: searxng}\n")
