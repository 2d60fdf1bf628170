"""The language of pages: from the settings or the browser. APIs and the record use English."""

import html
import re
from decimal import Decimal
from pathlib import Path

import pytest
from django.conf import settings
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import translation

from agentsite.management.commands import translations
from tasks_app.pages.fragments import Fragment, Viewer
from tasks_app.record import transcript
from tasks_app.templatetags import figures
from tasks_app.text import sentences
from tasks_app.text.sentences import translated
from tests.tasks_app.pages.conftest import Browser
from tests.waiting import takes_less_than

WALK = [
    "/",
    "/sessions/",
    "/projects/",
    "/inbox/",
    "/agents/",
    "/memory/",
    "/usage/",
    "/settings/",
    "/keys/",
    "/sessions/import/",
]
GERMAN = {"Accept-Language": "de-AT,de;q=0.9,en;q=0.5"}


@pytest.mark.parametrize(
    ("asked", "given"), [("de-AT,de;q=0.9,en;q=0.5", "de"), ("fr,en;q=0.5", "en"), ("tlh", "en"), ("", "en")]
)
def test_sign_in_page_uses_the_browsers_language(browser: type[Browser], asked: str, given: str) -> None:
    answer = browser().get("/accounts/login/", headers={"Accept-Language": asked})
    assert f'<html lang="{given}"' in answer.content.decode()
    assert answer.headers["Content-Language"] == given
    assert "Accept-Language" in answer.headers["Vary"]


def test_setting_overrides_the_browsers_language(alices: Browser, alice) -> None:
    assert '<html lang="en"' in alices.page("/")
    alices.post("/settings/profile/", {"language": "de"})
    alice.refresh_from_db()
    assert alice.language == "de"
    assert '<html lang="de"' in alices.page("/")
    assert '<option value="de" selected>Deutsch</option>' in alices.page("/settings/")
    alices.post("/settings/profile/", {"language": ""})
    assert '<html lang="de"' in alices.get("/", headers=GERMAN).content.decode()


def test_untranslated_language_cannot_be_chosen(alices: Browser, alice) -> None:
    assert alices.post("/settings/profile/", {"language": "tlh"}).status_code == 422
    alice.refresh_from_db()
    assert not alice.language


def test_language_does_not_leak_into_the_next_request(browser: type[Browser], alices: Browser) -> None:
    browser().get("/accounts/login/", headers=GERMAN)
    assert translation.get_language() == settings.LANGUAGE_CODE
    assert '<html lang="en"' in alices.page("/")


def test_language_needs_no_query(alices: Browser, alice, django_assert_num_queries) -> None:
    alices.page("/settings/")
    with CaptureQueriesContext(connection) as in_english:
        alices.page("/settings/")
    type(alice).objects.filter(pk=alice.pk).update(language="de")
    with django_assert_num_queries(len(in_english)):
        alices.page("/settings/")


def test_right_to_left_language_sets_the_direction(alices: Browser, alice, settings) -> None:
    assert "dir=" not in alices.page("/").partition("<head>")[0]
    settings.LANGUAGES = [*settings.LANGUAGES, ("ar", "العربية")]
    type(alice).objects.filter(pk=alice.pk).update(language="ar")
    assert '<html lang="ar" dir="rtl"' in alices.page("/")


def english_texts() -> list[str]:
    """Return texts that differ in German and cannot be part of another word: a German page must not contain them."""
    catalogue = translations.read(Path(settings.LOCALE_PATHS[0]) / "de/LC_MESSAGES/django.po")
    plain = re.compile(r"[A-Z][^%{<]* [^%{<]{5,}")
    ids = [(translations.forms(message.id)[0], translations.forms(message.string)) for message in catalogue]
    return [text for text, translation in ids if plain.fullmatch(text) and text not in translation]


def words_of(page: str) -> str:
    return html.unescape(re.sub(r"<script.*?</script>", "", page, flags=re.DOTALL))


def test_german_pages_have_no_english_texts(called, recorded, session, alices: Browser, alice) -> None:
    type(alice).objects.filter(pk=alice.pk).update(language="de")
    recorded("user_message", "Bitte.", metadata={"author": "alice"})
    called("file", '{"action": "read", "path": "a.md"}', "ok")
    called("shell", '{"command": "ls"}', "ok")
    failed = "The model provider could not be reached. Trying again in 5 s."
    recorded("status_notice", failed, metadata={"code": "internal"})
    texts, own = english_texts(), session.get_absolute_url()
    addresses = [*WALK, own, *(f"{own}{part}/" for part in ("why", "context", "manage", "share", "delete", "versions"))]
    for address in addresses:
        page = words_of(alices.page(address))
        assert not (found := [text for text in texts if text in page]), (address, found)
    page = alices.page(own)
    assert "Datei a.md gelesen, Befehl ls ausgeführt" in html.unescape(page)
    assert "Der Anbieter des Modells war nicht erreichbar. Neuer Versuch in 5 s." in page


def test_api_and_record_stay_english(session, alices: Browser, alice, task) -> None:
    type(alice).objects.filter(pk=alice.pk).update(language="de")
    german = alices.htmx(f"{session.get_absolute_url()}messages/", {"content": ""})
    assert "Die Nachricht ist leer." in german.content.decode()
    answer = alices.post(
        f"/api/v1/sessions/{session.pk}/messages/", {"content": ""}, "application/json", headers=GERMAN
    )
    assert answer.json()["detail"].startswith("The message is empty."), answer.json()


def test_live_fragments_use_the_language_of_each_page(recorded, session, alice) -> None:
    recorded("system_reminder", "Be quick.")
    item = transcript.newest_page(session).items[-1]
    fragment = Fragment("chat/_entry.html", session=session, item=item)
    english, german = (
        fragment.render_for(Viewer(alice, may_write=True, is_starter=True, language=language))
        for language in ("en", "de")
    )
    assert "A reminder from the server" in english
    assert "Ein Hinweis des Servers" in german


@pytest.mark.parametrize(
    ("stored", "shown"),
    [
        (
            "Stopped. Write a message to go on from here.",
            "Angehalten. Eine Nachricht schreiben, um hier weiterzumachen.",
        ),
        ("deletes many files at once; 3 of its own", "löscht viele Dateien auf einmal; 3 of its own"),
        ("It waits for the tasks that it has delegated; 1 of 12,000 have ended.", "von 12.000 sind beendet."),
        ("Nobody has translated this. It has its result.", "Nobody has translated this. Das Ergebnis liegt vor."),
    ],
)
def test_stored_english_is_translated(stored: str, shown: str) -> None:
    assert translated(stored) == stored
    with translation.override("de"):
        assert translated(stored).endswith(shown)


def test_text_resembling_a_template_is_fast() -> None:
    """Match an adversarial name: each word could end each field, and the end does not match."""
    template = next(text for text in sentences._catalogue_texts("de") if "had grown to" in text)
    begin, *between, _ = re.split(r"\{\d\}", template)
    hostile = begin + "".join(words * (4000 // len(between) // len(words)) for words in between) + "."
    with translation.override("de"), takes_less_than(1):
        assert translated(hostile) == hostile


def test_numbers_and_times_are_localized() -> None:
    said = (figures.count(12_345), figures.usd(Decimal("1.5")), figures.duration(1_500), figures.size(1_500))
    assert said == ("12.3k", "$1.50", "1.5 s", "1.5 kB")
    with translation.override("de"):
        said = (figures.count(12_345), figures.usd(Decimal("1.5")), figures.duration(1_500), figures.size(1_500))
    assert said == ("12,3 Tsd.", "1,50 $", "1,5 s", "1,5 kB")
