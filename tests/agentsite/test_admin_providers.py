"""Providers in the admin: tests, breakers and the order of routes."""

import html
import re
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import Permission
from django.test import Client
from django.utils import timezone

from llm_app.breaker import changes
from llm_app.models import BreakerChange, BreakerState, CircuitBreaker, LearnedQuirk, LLMLog, Provider, Route
from tests import factories
from tests.provider import FakeProvider, Reply, openai_call, openai_embeddings
from tests.server import free_port

LIST = "/admin/llm_app/provider/"


def act(browser: Client, action: str, *providers: Provider) -> list[str]:
    """Post an action as the buttons do, and return the messages of the page."""
    chosen = {"action": action, "_selected_action": [provider.pk for provider in providers]}
    return [str(message) for message in browser.post(LIST, chosen, follow=True).context["messages"]]


def test_working_provider_is_reported(main: Provider, server: FakeProvider, browser: Client) -> None:
    (said,) = act(browser, "test", main)
    assert said.startswith("main, fast-1: It works (")
    (received,) = server.received
    assert received.body["model"] == "fast-1"
    log = LLMLog.objects.get()
    assert (log.purpose, log.status, log.task_id) == ("test", "succeeded", None)


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        (Reply(status=401, chunks=[b"Incorrect key sk-very-secret"]), "The key is wrong (HTTP 401)."),
        (Reply(status=403), "The key may not do this (HTTP 403)"),
        (
            Reply(status=403, chunks=[b'{"error": {"code": "model_not_found"}}']),
            "The key may not use the model fast-1 (HTTP 403).",
        ),
        (Reply(status=402), "The account behind the key has no credit left (HTTP 402)."),
        (Reply(status=404, chunks=[b"The model `fast-1` does not exist"]), "It does not know the model fast-1"),
        (Reply(status=404, chunks=[b"<h1>Not Found</h1>"]), "There is no such API at this address (HTTP 404)."),
        (
            Reply(status=400, chunks=[b"tools are not supported"]),
            "It refuses the request (HTTP 400). It says: “tools are not supported”",
        ),
        (Reply(status=429), "It is overloaded, or the account has reached a limit (HTTP 429)."),
        (
            Reply(status=500, chunks=[b"out of memory!"]),
            "It reports an internal error (HTTP 500). It says: “out of memory!”",
        ),
        (Reply(chunks=[b"<html>It works!</html>"], content_type="text/html"), "not in the protocol openai_native."),
        (openai_call("message", {"text": "ok"}, cut=True), "The connection broke off."),
    ],
    ids=["401", "403", "403 for a model", "402", "model", "address", "400", "429", "500", "html", "cut"],
)
def test_provider_error_is_explained_in_words(
    reply: Reply, words: str, main: Provider, server: FakeProvider, browser: Client
) -> None:
    server.replies = [reply]
    (said,) = act(browser, "test", main)
    assert said.startswith("main, fast-1: ")
    assert words in said
    assert "sk-very-secret" not in said


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"base_url": "http://127.0.0.1:PORT/v1"}, "There is no answer at http://127.0.0.1:PORT/v1"),
        ({"base_url": "http://no-such-host.invalid/v1"}, "The host no-such-host.invalid is not known."),
        ({"base_url": "https://127.0.0.1:SERVER/v1"}, "A secure connection fails."),
        ({"base_url": "http://127.0.0.1:99999/v1"}, "The address is not valid"),
    ],
)
def test_unreachable_provider_is_explained(
    fields: dict[str, str], words: str, main: Provider, server: FakeProvider, browser: Client
) -> None:
    ports = {"PORT": str(free_port()), "SERVER": server.base_url.split(":")[2].split("/")[0]}

    def filled(text: str) -> str:
        for name, port in ports.items():
            text = text.replace(name, port)
        return text

    Provider.objects.update(**{name: filled(value) for name, value in fields.items()})
    (said,) = act(browser, "test", main)
    assert filled(words) in said


def test_demo_is_not_mentioned_next_to_a_real_route(main: Provider, browser: Client) -> None:
    factories.RouteFactory(model=main.routes.get().model, provider__name="stand-in", provider_model="demo")
    page = browser.get("/admin/llm_app/logicalmodel/").content.decode()
    assert "main/fast-1" in page
    assert "stand-in/demo" not in page


def test_missing_and_wrong_keys_have_different_messages(main: Provider, server: FakeProvider, browser: Client) -> None:
    server.replies = [Reply(status=401)]
    Provider.objects.update(api_key="")
    assert act(browser, "test", main) == ["main, fast-1: It requires a key, and none is stored (HTTP 401)."]


def test_stalled_provider_times_out(
    main: Provider, server: FakeProvider, browser: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("llm_app.connection_test.SILENCE_S", 0.1)
    server.replies = [Reply(chunks=[], stall_at=0)]
    (said,) = act(browser, "test", main)
    assert "It sent nothing for too long." in said
    main.refresh_from_db()
    assert main.timeout_s == 120


def test_each_model_of_a_provider_is_tested_once(main: Provider, server: FakeProvider, browser: Client) -> None:
    factories.RouteFactory(provider=main, provider_model="fast-1")
    factories.RouteFactory(provider=main, provider_model="slow-1")
    unknown = Reply(status=404, chunks=[b"model not found"])
    server.replies = [unknown, openai_call("message", {"text": "ok"})]
    said = act(browser, "test", main)
    assert [sentence.split(":")[0] for sentence in said] == ["main, fast-1", "main, slow-1"]
    assert ["does not know" in said[0], "It works" in said[1]] == [True, True]


def test_embedding_model_is_tested_with_an_embedding(main: Provider, server: FakeProvider, browser: Client) -> None:
    main.routes.update(model=factories.LogicalModelFactory(name="meanings", kind="embedding"))
    server.replies = [openai_embeddings(lambda text: [1.0, 0.0])]
    (said,) = act(browser, "test", main)
    assert "It works" in said


def test_provider_without_a_route_is_explained(browser: Client) -> None:
    lonely = factories.ProviderFactory(name="lonely")
    assert act(browser, "test", lonely) == ["lonely: no model is routed to it. Add a route, then test it."]


def test_connection_test_ignores_and_keeps_an_open_breaker(
    main: Provider, server: FakeProvider, browser: Client, root: Any
) -> None:
    changes.force(main, BreakerState.OPEN, root)
    assert "It works" in act(browser, "test", main)[0]
    server.replies = [Reply(status=401)]
    act(browser, "test", main)
    assert BreakerChange.objects.count() == 1


def test_forcing_a_breaker_is_recorded_with_its_administrator(main: Provider, browser: Client, root: Any) -> None:
    states = []
    for action in ("force_open", "force_closed", "reset_breaker"):
        act(browser, action, main)
        row = CircuitBreaker.objects.get()
        states.append((row.state, row.forced))
    assert states == [("open", True), ("closed", True), ("closed", False)]
    assert list(BreakerChange.objects.values_list("by", flat=True)) == [root.pk] * 3
    assert LogEntry.objects.filter(object_id=str(main.pk)).count() == 3


def test_provider_page_shows_breaker_history_and_buttons(main: Provider, browser: Client, root: Any) -> None:
    changes.open_breaker(changes.breaker_of(main), "5 of its last 5 calls failed.")
    page = browser.get(f"{LIST}{main.pk}/change/").content.decode()
    assert "Open. 5 of its last 5 calls failed." in page
    assert page.count("5 of its last 5 calls failed.") >= 2
    assert "Test this provider" in page
    assert "open" in browser.get(LIST).content.decode()


def test_view_permission_has_no_buttons_and_no_actions(main: Provider, server: FakeProvider) -> None:
    watcher = factories.UserFactory(is_staff=True)
    watcher.user_permissions.add(Permission.objects.get(codename="view_provider"))
    client = Client()
    client.force_login(watcher, backend="allauth.account.auth_backends.AuthenticationBackend")
    assert "Test this provider" not in client.get(f"{LIST}{main.pk}/change/").content.decode()
    for action in ("test", "force_open"):
        client.post(LIST, {"action": action, "_selected_action": [main.pk]})
    assert server.received == []
    assert not CircuitBreaker.objects.exists()


def save(browser: Client, provider: Provider, **fields: Any) -> Any:
    """Post the page's form as a browser does."""
    page = browser.get(f"{LIST}{provider.pk}/change/")
    form = page.context["adminform"].form
    shown = {name: form[name].value() for name in form.fields}
    filled = {name: value for name, value in shown.items() if value is not None} | {"breaker": "{}"}
    forms = [inline.formset.management_form for inline in page.context["inline_admin_formsets"]]
    hidden = {form.add_prefix(name): form[name].value() for form in forms for name in form.fields}
    changes.force(provider, BreakerState.CLOSED, None)  # the history grows while the form is open
    LearnedQuirk.objects.create(provider=provider, provider_model="m", quirk="stream_usage", value=False)
    return browser.post(f"{LIST}{provider.pk}/change/", filled | hidden | fields)


def test_form_can_be_saved_after_the_history_has_grown(main: Provider, browser: Client) -> None:
    assert save(browser, main, timeout_s=7).status_code == 302
    main.refresh_from_db()
    assert main.timeout_s == 7


def test_new_key_closes_the_breaker_of_the_old_key(main: Provider, browser: Client, root: Any) -> None:
    changes.open_breaker(changes.breaker_of(main), "It does not accept its key.", key_refused=True)
    page = {"enabled": "on", "breaker": "{}", "initial-breaker": "{}"}
    for inline in ("breaker_changes", "learned_quirks"):
        page |= {f"{inline}-TOTAL_FORMS": "0", f"{inline}-INITIAL_FORMS": "0"}
    kept = {name: getattr(main, name) for name in ("name", "protocol", "base_url", "timeout_s", "total_timeout_s")}
    browser.post(f"{LIST}{main.pk}/change/", page | kept)
    assert CircuitBreaker.objects.get().state == "open"
    browser.post(f"{LIST}{main.pk}/change/", page | kept | {"api_key": "sk-right"})
    row = CircuitBreaker.objects.get()
    assert (row.state, row.key_refused, row.reason) == ("closed", False, "Its settings were changed.")
    assert BreakerChange.objects.first().by == root  # type: ignore[union-attr]


def test_forced_breaker_stays_forced_after_a_new_key(main: Provider, root: Any) -> None:
    changes.force(main, BreakerState.OPEN, root)
    changes.reset_unless_forced(main, root)
    assert CircuitBreaker.objects.get().state == "open"


@pytest.mark.parametrize(
    "value",
    ['{"window": 0}', '{"failure_ratio": 2}', '{"cooldown_s": "x"}', '{"windw": 5}', "[1]", '{"min_calls": null}'],
)
def test_invalid_thresholds_are_rejected_with_their_bounds(value: str, main: Provider, browser: Client) -> None:
    answer = save(browser, main, breaker=value)
    assert answer.status_code == 200
    assert "failure_ratio (above 0" in answer.content.decode()


def test_routes_are_reordered_by_dragging(main: Provider, browser: Client) -> None:
    model = Route.objects.get().model
    second = factories.RouteFactory(model=model, provider=main, provider_model="slow-1", priority=2)
    first = Route.objects.exclude(pk=second.pk).get()
    page = browser.get(f"/admin/llm_app/logicalmodel/{model.pk}/change/")
    assert 'data-ordering-field="priority"' in page.content.decode()
    shown = page.context["adminform"].form
    form = {name: shown[name].value() for name in shown.fields}
    form |= {"routes-TOTAL_FORMS": 3, "routes-INITIAL_FORMS": 2}
    rows = [(first.pk, "fast-1", 1), (second.pk, "slow-1", 0), ("", "new-1", 32_767)]  # the page counts from 0
    for number, (pk, name, priority) in enumerate(rows):
        row = {"id": pk, "model": model.pk, "provider": main.pk, "provider_model": name, "priority": priority}
        form |= {f"routes-{number}-{field}": value for field, value in row.items()}
    assert browser.post(f"/admin/llm_app/logicalmodel/{model.pk}/change/", form).status_code == 302
    ordered = Route.objects.filter(model=model).order_by("priority").values_list("provider_model", "priority")
    assert list(ordered) == [("slow-1", 1), ("fast-1", 2), ("new-1", 3)]


def test_real_route_removes_the_demo(main: Provider, browser: Client) -> None:
    model = factories.scripted_model("demo")
    fields = {"model": model.pk, "provider": main.pk, "provider_model": "fast-1", "priority": 1}
    objects = dict.fromkeys(("extra_body", "extra_headers", "quirks"), "{}")
    response = browser.post("/admin/llm_app/route/add/", {**fields, **objects})
    assert response.status_code == 302
    assert [route.provider_model for route in model.routes.all()] == ["fast-1"]


def test_learned_quirks_are_shown_and_deleted_after_confirmation(main: Provider, browser: Client) -> None:
    row = LearnedQuirk.objects.create(
        provider=main, provider_model="m", quirk="unsupported", value="temperature", reason="HTTP 400: no temperature"
    )
    page = browser.get(f"{LIST}{main.pk}/change/").content.decode()
    assert "HTTP 400: no temperature" in page
    question = browser.get(f"/admin/llm_app/learnedquirk/{row.pk}/delete/")
    assert "Are you sure" in question.content.decode()
    assert LearnedQuirk.objects.exists()
    browser.post(f"/admin/llm_app/learnedquirk/{row.pk}/delete/", {"post": "yes"})
    assert not LearnedQuirk.objects.exists()
    assert LogEntry.objects.filter(object_repr__contains="temperature").exists()


def test_a_route_counts_its_learned_quirks_and_forgets_them(main: Provider, browser: Client) -> None:
    route = main.routes.get()
    target = {"provider": main, "provider_model": route.provider_model}
    row = LearnedQuirk.objects.create(
        **target, quirk="max_output_tokens", value=16384, reason="HTTP 400: at most 16384"
    )
    other = LearnedQuirk.objects.create(provider=main, provider_model="another", quirk="cache_points", value=False)
    assert "1 learned" in (page := browser.get("/admin/llm_app/route/").content.decode())
    address = re.search(r'href="(/admin/llm_app/learnedquirk/\?[^"]+)"', page)
    assert address
    listed = browser.get(address[1].replace("&amp;", "&")).content.decode()
    assert f"/learnedquirk/{row.pk}/" in listed
    assert f"/learnedquirk/{other.pk}/" not in listed
    assert "2 learned" in browser.get(LIST).content.decode()
    page = browser.get(f"/admin/llm_app/route/{route.pk}/change/").content.decode()
    assert "max_output_tokens = 16384" in page
    assert f"/admin/llm_app/learnedquirk/{row.pk}/delete/" in page
    browser.post(f"/admin/llm_app/learnedquirk/{row.pk}/delete/", {"post": "yes"})
    page = browser.get(f"/admin/llm_app/route/{route.pk}/change/").content.decode()
    assert f"/learnedquirk/{row.pk}/" not in page
    assert browser.get("/admin/llm_app/route/add/").status_code == 200


def test_lists_and_forms_use_the_newest_result(browser: Client, main: Provider) -> None:
    model = main.routes.get().provider_model
    pages = [f"/admin/llm_app/{name}/" for name in ("provider", "route")]
    assert all("never called" in browser.get(page).content.decode() for page in pages)
    main.routes.update(works=True, verdict="It works (12 ms).", tested_at=timezone.now())
    assert all("answered, just now" in browser.get(page).content.decode() for page in pages)
    refusal = {"status": "failed", "error_type": "AuthenticationFailed", "error": "HTTP 401: no"}
    factories.log(provider=main.name, provider_model=model, **refusal)
    assert all("failed, just now" in browser.get(page).content.decode() for page in pages)
    for row in (main, main.routes.get()):
        page = browser.get(f"/admin/llm_app/{row._meta.model_name}/{row.pk}/change/").content.decode()
        assert "Its last call failed. The key is wrong (HTTP 401)." in html.unescape(page)


def test_successful_test_closes_the_breaker(browser: Client, main: Provider, server: FakeProvider) -> None:
    changes.open_breaker(changes.breaker_of(main), "It does not accept its key.", key_refused=True)
    act(browser, "test", main)
    main.refresh_from_db()
    assert changes.breaker_of(main).state == BreakerState.CLOSED
