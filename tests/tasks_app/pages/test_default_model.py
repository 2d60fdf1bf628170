"""The home page where an administrator enters a key and chooses the default model."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import Permission
from django.db import connection
from django.test import Client
from django.utils import timezone

from llm_app.breaker import changes
from llm_app.models import BreakerState, LLMLog, Provider, Route
from llm_app.provider_status import settings_changed
from tests import factories
from tests.provider import FakeProvider, Reply, models, openai_call, openai_text, running
from tests.server import free_port
from tools_app.models import ToolSetting

KEY = "sk-proj-a-very-secret-key"


@pytest.fixture
def server() -> Iterator[FakeProvider]:
    with running() as provider:
        provider.model_list = models("gpt-5.2", "gpt-6.1-sol", "whisper-1")
        provider.replies = [openai_call("message", {"text": "ok"})]
        yield provider


@pytest.fixture
def demo(db: None) -> Route:
    route: Route = factories.RouteFactory(
        model__is_default=True, model__name="default", provider__name="demo", provider_model="demo"
    )
    return route


@pytest.fixture
def root(alice: Any, browser: Any) -> Any:
    """Return the client of an administrator."""
    alice.is_staff = alice.is_superuser = True
    alice.save()
    return browser(alice)


@pytest.fixture
def enter(root: Any, server: FakeProvider) -> Any:
    """Return a function that posts the form."""
    return lambda **fields: root.post("/provider/key/", {"key": KEY, "address": server.base_url, **fields}, follow=True)


def route() -> Route:
    found = Route.objects.usable_for("").first()
    assert found is not None
    return found


def test_model_of_a_working_key_becomes_the_default(demo: Route, enter: Any) -> None:
    page = enter().content.decode()
    assert "gpt-6.1-sol answers from now on. It works (" in page
    assert "scripted demo" not in page
    assert str(route()) == "default → openai/gpt-6.1-sol"
    assert not Route.objects.filter(pk=demo.pk).exists()
    assert LLMLog.objects.get().purpose == "test"


def test_packages_are_allowed_only_if_asked_for(demo: Route, enter: Any, root: Any) -> None:
    assert "Commands can install packages" in root.page("/")
    enter()
    assert not ToolSetting.objects.exists()


def test_first_key_can_let_commands_install_packages(demo: Route, enter: Any, alice: Any) -> None:
    enter(packages="on")
    setting = ToolSetting.objects.get()
    assert (setting.name, setting.can_install_packages, setting.approval) == ("shell", True, "by_danger")
    assert LogEntry.objects.get(content_type__model="toolsetting").user == alice


def test_a_decision_about_commands_is_not_asked_for_again(demo: Route, enter: Any, root: Any) -> None:
    ToolSetting.objects.create(name="shell", hosts=["wiki.example"])
    assert "Commands can install packages" not in root.page("/")
    enter(packages="on")
    assert ToolSetting.objects.get().hosts == ["wiki.example"]


@pytest.mark.parametrize("ending", ["", "/", "/v1/", "/v1/v1", "/v1/chat/completions", "/v1/models"])
def test_address_is_tidied_and_completed(demo: Route, enter: Any, server: FakeProvider, ending: str) -> None:
    listed = server.model_list
    server.model_list = lambda asked: listed if asked.path == "/v1/models" else Reply(status=404)
    page = enter(kind="compatible", address=server.base_url.removesuffix("/v1") + ending).content.decode()
    assert "It works (" in page
    assert route().provider.base_url == server.base_url
    assert {received.path for received in server.received} == {"/v1/chat/completions"}


def test_model_without_a_price_is_reported(demo: Route, enter: Any, root: Any) -> None:
    enter()
    assert "No price is known for gpt-6.1-sol" in root.page("/")
    assert f"/admin/llm_app/route/{route().pk}/change/" in root.page("/")
    Route.objects.update(price={"input": 0, "output": 0})
    assert "No price is known" not in root.page("/")


def test_price_can_be_entered_with_the_key(demo: Route, enter: Any, root: Any) -> None:
    assert "Enter both prices, or none." in enter(input_price="1.5").content.decode()
    enter(input_price="1.5", output_price="6")
    assert route().price == {"input": 1.5, "output": 6.0}
    assert "No price is known" not in root.page("/")


def test_key_is_stored_encrypted_and_never_shown(demo: Route, enter: Any, root: Any) -> None:
    pages = enter().content.decode() + root.page("/")
    with connection.cursor() as cursor:
        cursor.execute("SELECT api_key FROM providers WHERE name = 'openai'")
        (stored,) = cursor.fetchone()
    assert Provider.objects.get(name="openai").api_key == KEY
    assert KEY not in pages + stored + str(list(LLMLog.objects.values())) + str(list(LogEntry.objects.values()))


def test_change_is_in_the_admin_log(demo: Route, enter: Any, alice: Any) -> None:
    enter()
    entry = LogEntry.objects.get()
    assert (entry.user, entry.object_repr, entry.content_type.model) == (alice, "openai", "provider")


@pytest.mark.parametrize(
    ("listed", "trial", "words"),
    [
        (Reply(status=401, chunks=[b'{"error": {"message": "Incorrect API key: ' + KEY.encode() + b'"}}']), None, "The key is wrong (HTTP 401). It says: “Incorrect API key"),
        (Reply(status=400, chunks=[b'[{"error": {"message": "API key not valid. Please pass a valid API key."}}]']), None, "The key is wrong (HTTP 400). It says: “API key not valid."),
        (models("m"), Reply(status=429, chunks=[b'{"error": {"message": "You exceeded your current quota", "code": "insufficient_quota"}}']), "no credit left (HTTP 429). It says: “You exceeded"),
        (models("m"), Reply(status=400, chunks=[b'{"error": {"message": "Your credit balance is too low"}}']), "no credit left (HTTP 400)"),
        (models("m"), Reply(status=404, chunks=[b"no such model"]), "It does not know the model m (HTTP 404)"),
        (models("m"), openai_text("Hello!"), "did not call the tool"),
    ],
    ids=["key", "key at gemini", "credit", "credit at anthropic", "model", "no tool"],
)  # fmt: skip
def test_failed_test_names_the_reason_and_stores_nothing(
    demo: Route, enter: Any, server: FakeProvider, listed: Reply, trial: Reply | None, words: str
) -> None:
    server.model_list, server.replies = listed, [trial or server.replies[0]]
    response = enter()
    assert response.status_code == 422
    assert words in response.content.decode()
    assert KEY not in response.content.decode()
    assert route() == demo
    assert Provider.objects.count() == 1


def test_unreachable_address_is_reported(demo: Route, enter: Any) -> None:
    assert (
        "There is no answer at http://127.0.0.1" in enter(address=f"http://127.0.0.1:{free_port()}/v1").content.decode()
    )


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"key": "", "address": ""}, "Enter a key."),
        ({"key": "hello", "address": ""}, "Choose the provider"),
        ({"key": "sk-a key", "address": ""}, "A key contains no spaces"),
        ({"key": "x\r\ny", "address": ""}, "A key contains no spaces"),
        ({"kind": "compatible", "address": ""}, "Enter the address of the server"),
        ({"kind": "nobody"}, "Select a valid choice"),
        ({"address": "127.0.0.1:9000"}, "Write the whole address"),
    ],
)
def test_invalid_form_makes_no_request(
    demo: Route, enter: Any, server: FakeProvider, fields: dict[str, str], words: str
) -> None:
    response = enter(**fields)
    assert (response.status_code, words in response.content.decode()) == (422, True)
    assert server.asked + server.received == []


def test_server_without_key_or_list_uses_the_entered_model(demo: Route, enter: Any, server: FakeProvider) -> None:
    server.model_list = Reply(status=404)
    assert "Name the one to use" in enter(key="").content.decode()
    assert "qwen3 answers from now on." in enter(key="", model="qwen3").content.decode()
    assert "Authorization" not in server.received[0].headers or server.received[0].headers["Authorization"] == ""


def test_failed_key_is_replaced(demo: Route, enter: Any, server: FakeProvider, root: Any) -> None:
    enter()
    Route.objects.update(works=False, verdict="The key is wrong (HTTP 401).")
    page = root.page("/")
    assert "The key is wrong (HTTP 401)." in page
    assert "Enter another key" in page
    enter(key="sk-proj-another")
    assert (Provider.objects.get(name="openai").api_key, route().works) == ("sk-proj-another", True)


def test_working_provider_is_not_overwritten(demo: Route, enter: Any, server: FakeProvider) -> None:
    enter()
    asked = len(server.asked)
    assert "A model is already set up" in enter(key="sk-proj-another").content.decode()
    assert (len(server.asked), Provider.objects.get(name="openai").api_key) == (asked, KEY)


# --- the newest evidence ---------------------------------------------------------------------------------------------


def call(at: timedelta = timedelta(), **fields: Any) -> None:
    """Log a call to the default model, some time after now."""
    values = {"provider": "openai", "provider_model": "gpt-6.1-sol", "duration_ms": 1234}
    factories.log(at=timezone.now() + at, **values | fields)


REFUSED = {"status": "failed", "error_type": "AuthenticationFailed", "error": "HTTP 401: no such key"}


def test_later_failure_is_shown_with_advice(demo: Route, enter: Any, root: Any) -> None:
    enter()
    call(**REFUSED)
    page = root.page("/")
    assert "Its last call failed. The key is wrong (HTTP 401)." in page
    assert "It works" not in page
    assert '<a href="#id_key">Enter another key</a>' in page
    assert 'id="id_key"' in page
    assert "answers from now on" in enter(key="sk-proj-another").content.decode()
    assert "Its last call failed" not in root.page("/")


def test_later_success_is_shown(demo: Route, enter: Any, root: Any) -> None:
    enter()
    Route.objects.update(works=False, verdict="It sent nothing for too long.")
    call()
    page = root.page("/")
    assert "Its last call was answered in 1.2 s." in page
    assert "It sent nothing" not in page
    assert 'id="id_key"' not in page


def test_fault_unrelated_to_the_key_links_to_the_settings(demo: Route, enter: Any, root: Any) -> None:
    enter()
    call(status="failed", error_type="Overloaded", error="HTTP 429: slow down")
    page = root.page("/")
    assert "Its last call failed. It is overloaded" in page
    assert f"/admin/llm_app/provider/{route().provider_id}/change/" in page
    assert 'id="id_key"' not in page


@pytest.mark.parametrize(
    "fields",
    [
        {"status": "aborted"},
        {"status": "failed", "error_type": "ContextTooLong"},
        {"status": "failed", "error_type": "ContentRefused", "error": "HTTP 400: content_filter"},
        {"provider_model": "another", **REFUSED},
        {"provider": "another", **REFUSED},
        {"at": timedelta(hours=-1), **REFUSED},
    ],
    ids=["stopped by a person", "too long", "filtered", "another model", "another provider", "before the test"],
)
def test_irrelevant_failure_does_not_change_the_status(
    demo: Route, enter: Any, root: Any, fields: dict[str, Any]
) -> None:
    enter()
    call(**fields)
    assert "It works (" in root.page("/")


def test_key_refused_for_another_model_counts_for_this_one(demo: Route, enter: Any, root: Any) -> None:
    enter()
    call(provider_model="another", **REFUSED)
    changes.open_breaker(changes.breaker_of(route().provider), "It does not accept its key.", key_refused=True)
    page = root.page("/")
    assert "Its last call failed. The key is wrong (HTTP 401)." in page
    assert 'id="id_key"' in page


def test_paused_provider_is_reported(demo: Route, enter: Any, root: Any, alice: Any) -> None:
    enter()
    call()
    changes.force(route().provider, BreakerState.OPEN, alice)
    page = root.page("/")
    assert "An administrator has paused all calls to it." in page
    assert "Its last call was answered" not in page
    changes.reset(route().provider, alice)
    assert "Its last call was answered" in root.page("/")


def test_new_key_keeps_provider_name_and_model(demo: Route, root: Any, server: FakeProvider) -> None:
    provider = factories.ProviderFactory(
        name="main", protocol="openai_native", base_url=server.base_url, api_key="sk-old"
    )
    demo.model.routes.all().delete()
    main = factories.RouteFactory(
        model=demo.model, provider=provider, provider_model="mine", price={"input": 1, "output": 2}
    )
    call(provider="main", provider_model="mine", **REFUSED)
    page = root.page("/")
    assert f'value="{server.base_url}"' in page
    assert '<option value="compatible" selected>' in page
    form = {"key": "sk-new", "kind": "compatible", "address": server.base_url}
    assert "mine answers from now on. It works (" in root.post("/provider/key/", form, follow=True).content.decode()
    (only,) = Route.objects.all()
    assert (only.pk, only.provider.name, only.provider.api_key, only.price) == (
        main.pk,
        "main",
        "sk-new",
        {"input": 1, "output": 2},
    )
    assert Provider.objects.filter(name="main").count() == Provider.objects.exclude(name="demo").count() == 1


def test_new_key_that_is_refused_is_not_stored(demo: Route, enter: Any, server: FakeProvider) -> None:
    enter()
    call(**REFUSED)
    server.replies = [Reply(status=401)]
    assert "The key is wrong" in enter(key="sk-proj-another").content.decode()
    assert route().provider.api_key == KEY


def test_changed_settings_discard_earlier_results(demo: Route, enter: Any, root: Any) -> None:
    enter()
    call(**REFUSED)
    settings_changed(route().provider)
    page = root.page("/")
    assert "Its settings were changed, and it was not called since." in page
    assert "The key is wrong" not in page


# --- choosing a model ------------------------------------------------------------------------------------------------


def test_another_model_is_tested_and_becomes_the_default(
    demo: Route, enter: Any, server: FakeProvider, root: Any
) -> None:
    enter()
    assert "<option selected>gpt-6.1-sol</option><option>gpt-5.2</option>" in root.page("/")
    page = root.post("/provider/model/", {"model": "gpt-5.2"}, follow=True).content.decode()
    assert "gpt-5.2 answers from now on." in page
    assert [str(one) for one in Route.objects.all()] == ["default → openai/gpt-5.2"]
    assert server.received[-1].body["model"] == "gpt-5.2"


def test_failing_model_is_not_chosen(demo: Route, enter: Any, server: FakeProvider, root: Any) -> None:
    enter()
    server.replies = [Reply(status=404, chunks=[b"no such model"])]
    page = root.post("/provider/model/", {"model": "gpt-5.2"}, follow=True).content.decode()
    assert "gpt-6.1-sol stays. gpt-5.2: It does not know the model" in page
    assert (route().provider_model, route().works) == ("gpt-6.1-sol", True)


def test_model_list_can_be_reloaded(demo: Route, enter: Any, server: FakeProvider, root: Any) -> None:
    enter()
    server.model_list = models("gpt-7-sol")
    assert "The list is up to date." in root.post("/provider/model/", {}, follow=True).content.decode()
    assert "<option>gpt-7-sol</option>" in root.page("/")


# --- permissions -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("is_staff", [False, True])
def test_users_without_permissions_see_and_change_nothing(
    demo: Route, alices: Any, alice: Any, server: FakeProvider, is_staff: bool
) -> None:
    alice.is_staff = is_staff
    alice.save()
    page = alices.page("/")
    assert "a scripted demo answers" in page
    assert "Ask an administrator to add a provider." in page
    assert "API key" not in page
    for address in ("/provider/key/", "/provider/model/"):
        assert alices.post(address, {"key": KEY, "address": server.base_url, "model": "m"}).status_code == 403
    assert server.asked + server.received == []


def test_permissions_on_providers_models_and_routes_suffice(demo: Route, alices: Any, alice: Any) -> None:
    alice.is_staff = True
    alice.save()
    codenames = [f"{verb}_{name}" for verb in ("add", "change") for name in ("provider", "route", "logicalmodel")]
    alice.user_permissions.set(Permission.objects.filter(codename__in=codenames))
    assert "API key" in alices.page("/")


def test_cross_site_form_is_refused(demo: Route, alice: Any) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(alice)
    assert client.post("/provider/key/", {"key": KEY}).status_code == 403
