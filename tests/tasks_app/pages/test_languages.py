"""Pages are in their reader's language: that of the settings, or of the browser. Programs and the record have English."""

import pytest
from django.conf import settings
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import translation

from tests.tasks_app.pages.conftest import Browser

GERMAN = {"Accept-Language": "de-AT,de;q=0.9,en;q=0.5"}


@pytest.mark.parametrize(
    ("asked", "given"), [("de-AT,de;q=0.9,en;q=0.5", "de"), ("fr,en;q=0.5", "en"), ("tlh", "en"), ("", "en")]
)
def test_before_one_signs_in_the_browser_says_the_language(browser: type[Browser], asked: str, given: str) -> None:
    answer = browser().get("/accounts/login/", headers={"Accept-Language": asked})
    assert f'<html lang="{given}"' in answer.content.decode()
    assert answer.headers["Content-Language"] == given
    assert "Accept-Language" in answer.headers["Vary"]


def test_the_language_of_the_settings_comes_before_that_of_the_browser(alices: Browser, alice) -> None:
    assert '<html lang="en"' in alices.page("/")
    alices.post("/settings/profile/", {"language": "de"})
    alice.refresh_from_db()
    assert alice.language == "de"
    assert '<html lang="de"' in alices.page("/")
    assert '<option value="de" selected>Deutsch</option>' in alices.page("/settings/")
    alices.post("/settings/profile/", {"language": ""})
    assert '<html lang="de"' in alices.get("/", headers=GERMAN).content.decode()


def test_a_language_without_a_translation_cannot_be_chosen(alices: Browser, alice) -> None:
    assert alices.post("/settings/profile/", {"language": "tlh"}).status_code == 422
    alice.refresh_from_db()
    assert not alice.language


def test_the_language_of_one_page_is_not_that_of_the_next(browser: type[Browser], alices: Browser) -> None:
    browser().get("/accounts/login/", headers=GERMAN)
    assert translation.get_language() == settings.LANGUAGE_CODE
    assert '<html lang="en"' in alices.page("/")


def test_the_language_costs_no_query(alices: Browser, alice, django_assert_num_queries) -> None:
    alices.page("/settings/")
    with CaptureQueriesContext(connection) as in_english:
        alices.page("/settings/")
    type(alice).objects.filter(pk=alice.pk).update(language="de")
    with django_assert_num_queries(len(in_english)):
        alices.page("/settings/")


def test_a_page_is_written_from_right_to_left_where_its_language_is(alices: Browser, alice, settings) -> None:
    assert "dir=" not in alices.page("/").partition("<head>")[0]
    settings.LANGUAGES = [*settings.LANGUAGES, ("ar", "العربية")]
    type(alice).objects.filter(pk=alice.pk).update(language="ar")
    assert '<html lang="ar" dir="rtl"' in alices.page("/")
