"""Models that belong to roles are hidden from others. A task that loses its model fails with a reason."""

import pytest
from django.contrib.auth.models import Group
from django.test import Client

from llm_app.models import LogicalModel
from tasks_app import services
from tasks_app.worker import jobs
from tests import factories
from tests.tasks_app.engine.conftest import call, result, script


@pytest.fixture
def analysts(alice):
    role = Group.objects.create(name="analysts")
    alice.groups.add(role)
    return role


@pytest.fixture
def sharp(analysts):
    """Return a model that only alice can use."""
    model = factories.scripted_model("script")
    model.name = "sharp"
    model.save()
    model.roles.add(analysts)
    return model


def names(program) -> set[str]:
    return {model["name"] for model in program.call("GET", "models/").json()["results"]}


def test_models_are_listed_for_their_roles(alices, program, bob, session, sharp):
    assert names(alices) == {session.model.name, "sharp"}
    assert names(program(bob)) == {session.model.name}


def test_model_of_several_roles_is_listed_once(alices, alice, sharp):
    second = Group.objects.create(name="second")
    alice.groups.add(second)
    sharp.roles.add(second)
    assert [m["name"] for m in alices.call("GET", "models/").json()["results"]].count("sharp") == 1


def test_model_of_other_roles_does_not_exist(alices, program, carol, session, sharp):
    theirs = program(carol)
    refused = theirs.call("POST", "sessions/", {"model": "sharp"})
    unknown = theirs.call("POST", "sessions/", {"model": "nonsense"})
    assert (refused.status_code, unknown.status_code) == (422, 422)
    assert refused.content.replace(b"sharp", b"nonsense") == unknown.content
    assert theirs.call("PATCH", f"sessions/{session.pk}/", {"model": "sharp"}).status_code == 422
    assert alices.call("PATCH", f"sessions/{session.pk}/", {"model": "sharp"}).json()["model"] == "sharp"


def test_pages_offer_permitted_models_only(alice, bob, sharp):
    factories.LogicalModelFactory(name="plain")
    assert [option in page(alice, "/") for option in ('value="sharp"', 'value="plain"')] == [True, True]
    factories.LogicalModelFactory(name="other")
    assert [option in page(bob, "/") for option in ('value="sharp"', 'value="plain"')] == [False, True]


def test_page_form_refuses_other_models(carol, session, sharp):
    client = browser(carol)
    client.post(f"/s/{session.pk}/change/", {"title": "New", "model": "sharp"})
    session.refresh_from_db()
    assert session.title == "New"
    assert session.model != sharp


def test_title_change_keeps_the_model(carol, session, sharp):
    session.model = sharp
    session.save()
    factories.LogicalModelFactory(name="plain")
    assert '<option value="sharp" selected>' in page(carol, f"/s/{session.pk}/")
    browser(carol).post(f"/s/{session.pk}/change/", {"title": "New", "model": "sharp"})
    session.refresh_from_db()
    assert (session.title, session.model) == ("New", sharp)


@pytest.mark.django_db(transaction=True)
def test_losing_the_model_fails_the_task_at_its_next_step(alice, analysts, sharp):
    LogicalModel.objects.create(name="another", is_default=True)
    session = factories.SessionFactory(owner=alice, model=sharp)
    ask = call("message", type="ask", text="Shall I?")
    task = services.post_message(session, alice, script(ask, result())).task
    jobs.advance(task.pk)
    alice.groups.remove(analysts)
    task.refresh_from_db()
    services.reply(task, alice, "Yes.")
    jobs.advance(task.pk)
    task.refresh_from_db()
    assert (task.state, task.failure_code) == ("failed", "provider_unavailable")
    assert task.failure_detail.startswith("Your roles do not allow this model.")


def browser(user) -> Client:
    client = Client()
    client.force_login(user, backend="allauth.account.auth_backends.AuthenticationBackend")
    return client


def page(user, address: str) -> str:
    return browser(user).get(address).content.decode()
