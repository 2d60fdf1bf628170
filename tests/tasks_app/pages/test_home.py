"""The home page: hints for newcomers, and recent sessions."""

import pytest

from tests import factories


@pytest.fixture
def titled(alice):
    return lambda title, owner=alice: factories.SessionFactory(owner=owner, title=title)


def test_newcomer_sees_examples(alices):
    assert "Try one of these" in alices.page("/")


def test_missing_model_is_reported(alices):
    assert "No model is set up yet" in alices.page("/")


def test_demo_is_reported(alices):
    factories.RouteFactory(model__is_default=True, provider_model="demo")
    page = alices.page("/")
    assert "a scripted demo answers" in page
    assert "No model is set up yet" not in page


def test_demo_is_not_mentioned_with_a_real_model(alices):
    factories.RouteFactory(model__is_default=True, provider__protocol="openai_native", provider_model="m")
    assert "demo" not in alices.page("/")


@pytest.mark.parametrize(
    ("state", "words"),
    [
        ({"state": "thinking"}, "Thinking"),
        ({"state": "executing_tool", "waiting_for": "reply"}, "Asks you"),
        ({"state": "executing_tool", "waiting_for": "approval"}, "Needs approval"),
    ],
)
def test_sessions_show_the_state_of_their_newest_task(state, words, alices, titled):
    factories.TaskFactory(session=titled("One"), **state)
    assert f"</svg>{words}</span>" in alices.page("/")


def test_summary_is_shown_without_markdown(alices, titled):
    session = titled("One")
    session.summary = "The **report** is in `report.md`.\n\n| more | to come |"
    session.save()
    page = alices.page("/")
    assert "The report is in report.md." in page
    assert "to come" not in page


def test_old_search_address_redirects_to_all_sessions(alices):
    assert alices.get("/", {"q": "cat"}).headers["Location"] == "/sessions/?q=cat"


def test_title_is_escaped(alices, titled):
    titled("<script>alert(1)</script>")
    assert "<script>alert" not in alices.page("/")
