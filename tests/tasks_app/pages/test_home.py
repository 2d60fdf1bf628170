"""The first page: what to do, and the sessions so far."""

import pytest

from tests import factories


@pytest.fixture
def titled(alice):
    return lambda title, owner=alice: factories.SessionFactory(owner=owner, title=title)


def test_a_newcomer_is_told_what_to_try(alices):
    assert "Try one of these" in alices.page("/")


def test_it_says_when_nobody_would_answer(alices):
    assert "No model is set up yet" in alices.page("/")


def test_it_says_when_only_the_demo_answers(alices):
    factories.RouteFactory(model__is_default=True, provider_model="demo")
    page = alices.page("/")
    assert "a scripted demo answers" in page
    assert "No model is set up yet" not in page


def test_it_says_nothing_of_a_demo_when_a_model_is_set_up(alices):
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
def test_each_session_says_how_its_newest_task_stands(state, words, alices, titled):
    factories.TaskFactory(session=titled("One"), **state)
    assert f"</svg>{words}</span>" in alices.page("/")


def test_the_summary_is_shown_without_its_marks(alices, titled):
    session = titled("One")
    session.summary = "The **report** is in `report.md`.\n\n| more | to come |"
    session.save()
    page = alices.page("/")
    assert "The report is in report.md." in page
    assert "to come" not in page


def test_an_old_address_of_a_search_goes_to_all_sessions(alices):
    assert alices.get("/", {"q": "cat"}).headers["Location"] == "/sessions/?q=cat"


def test_a_title_is_never_taken_for_html(alices, titled):
    titled("<script>alert(1)</script>")
    assert "<script>alert" not in alices.page("/")
