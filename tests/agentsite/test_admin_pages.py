"""All pages of the admin: they open, link to each other, and need no more queries for longer lists."""

from itertools import zip_longest
from typing import Any
from urllib.parse import parse_qsl

import pytest
from django.contrib import admin
from django.db import connection
from django.test import Client, RequestFactory
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from agentsite.admin_site import NAVIGATION
from llm_app.models import LLMLog, LogicalModel
from tasks_app.models import ContextEntry, Limits, Session, Task
from tests import factories
from tests.agentsite import installation

MODELS = sorted(
    (model for model in admin.site._registry if model._meta.app_label != "account"), key=lambda m: m.__name__
)
every_model = pytest.mark.parametrize("model", MODELS, ids=lambda model: model.__name__)


def address(model: Any, page: str, *arguments: Any) -> str:
    return reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_{page}", args=arguments)


def first(model: Any) -> Any:
    row = model._default_manager.first()
    assert row is not None, "the installation of these tests lacks such a row"
    return row


@pytest.fixture
def furnished(db: None) -> None:
    installation.furnish()


@every_model
def test_pages_open_and_longer_lists_need_no_more_queries(
    model: Any, furnished: None, browser: Client, rf: RequestFactory, root: Any
) -> None:
    def queries() -> int:
        with CaptureQueriesContext(connection) as captured:
            assert browser.get(address(model, "changelist"), follow=True).status_code == 200
        return len(captured)

    row = first(model).pk
    for page in ("change", "history"):
        assert browser.get(address(model, page, row)).status_code == 200
    request = rf.get("/admin/")
    request.user = root
    may_add = admin.site._registry[model].has_add_permission(request)
    assert browser.get(address(model, "add")).status_code == (200 if may_add else 403)
    queries()  # the first visit warms caches
    before = queries()
    for number in range(2, 4):
        installation.add_more(number)
    assert queries() == before


@every_model
def test_search_and_all_filters_work(model: Any, furnished: None, browser: Client) -> None:
    """The first request applies the first choices of all filters, the next one the second choices, and so on."""
    listed = browser.get(address(model, "changelist"), {"q": "abc"}, follow=True)
    assert listed.status_code == 200
    changelist = listed.context.get("cl")
    filters = [
        [dict(parse_qsl(choice["query_string"].removeprefix("?"))) for choice in spec.choices(changelist)]
        for spec in getattr(changelist, "filter_specs", ())
    ]
    for choices in zip_longest(*filters, fillvalue={}):
        chosen = {name: value for choice in choices for name, value in choice.items()}
        page = browser.get(address(model, "changelist"), chosen)
        assert (page.status_code, chosen.keys() - page.context["cl"].params.keys()) == (200, set()), chosen


def test_first_page_shows_the_state_of_the_installation(browser: Client) -> None:
    page = browser.get("/admin/").content.decode()
    assert "Commands run in" in page or "No sandbox works" in page
    assert "The default model has no enabled route." in page


def test_first_page_shows_weaknesses_only_to_superusers(db: None) -> None:
    staff = Client()
    staff.force_login(
        factories.UserFactory(is_staff=True), backend="allauth.account.auth_backends.AuthenticationBackend"
    )
    page = staff.get("/admin/")
    assert page.status_code == 200
    assert "The default model has no enabled route." not in page.content.decode()


def test_every_model_is_in_the_sidebar_or_on_another_page(browser: Client) -> None:
    links = {str(item["link"]) for group in NAVIGATION for item in group["items"]}
    apart = {address(model, "changelist") for model in MODELS} - links
    assert apart == {"/admin/tools_app/rolepolicy/"}, "role policies are edited on the page of their role"


def test_admin_uses_the_login_of_the_site(db: None) -> None:
    assert Client().get("/admin/")["Location"].startswith("/admin/login/")
    assert Client().get("/admin/login/?next=/admin/")["Location"].startswith("/accounts/login/?next=")


def test_admin_requires_staff(alice: Any) -> None:
    member = Client()
    member.force_login(alice, backend="allauth.account.auth_backends.AuthenticationBackend")
    page = member.get("/admin/", follow=True)
    assert page.status_code == 403
    assert "Your account is not allowed to see or do this" in page.content.decode()


@pytest.mark.parametrize(
    ("source", "target"), [(Session, Task), (Session, ContextEntry), (Session, LLMLog), (Task, LLMLog)]
)
def test_page_links_to_related_rows(source: Any, target: Any, furnished: None, browser: Client) -> None:
    installation.add_more(2)
    row = first(source)
    page = browser.get(address(source, "change", row.pk)).content.decode()
    start = page.index(f'href="{address(target, "changelist")}?') + len('href="')
    listed = browser.get(page[start : page.index('"', start)].replace("&amp;", "&"))
    column = "session_id" if source is Session else "task_id"
    assert {getattr(item, column) for item in listed.context["cl"].result_list} == {row.pk}


def test_limits_have_exactly_one_row(browser: Client) -> None:
    assert browser.get("/admin/tasks_app/limits/")["Location"] == "/admin/tasks_app/limits/add/"
    form = browser.get("/admin/tasks_app/limits/add/").context["adminform"].form
    browser.post("/admin/tasks_app/limits/add/", form.initial | {"max_iterations": 7} | _shown(form))
    assert Limits.current().max_iterations == 7
    assert browser.get("/admin/tasks_app/limits/")["Location"] == "/admin/tasks_app/limits/1/change/"
    assert browser.get("/admin/tasks_app/limits/add/").status_code == 403


def _shown(form: Any) -> dict[str, Any]:
    shown = {name: form[name].value() for name in form.fields if name != "max_iterations"}
    return {name: "" if value is None else value for name, value in shown.items()}


def test_action_sets_the_default_model(browser: Client) -> None:
    factories.LogicalModelFactory(name="old", is_default=True)
    new = factories.LogicalModelFactory(name="new")
    browser.post("/admin/llm_app/logicalmodel/", {"action": "make_default", "_selected_action": [new.pk]})
    assert LogicalModel.objects.get(is_default=True) == new
