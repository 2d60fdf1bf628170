"""The translations are complete, say the same in the same places, and are what the server reads."""

import re
from functools import cache
from pathlib import Path

import pytest
from django.conf import settings

from agentsite.management.commands import translations
from tasks_app.templatetags.texts import SCRIPT_TEXTS
from tools_app.contract import registry

FILES = sorted((Path(settings.BASE_DIR) / "locale").glob("*/LC_MESSAGES/django.po"))
UPDATE = "run `manage.py translations --missing`, and translate what it prints"
PLACES = re.compile(r"%\(\w+\)[sd]|%%|\{#?\w*(?::[^}]*)?\}|#(?!\w)|<[^>]*>")
files = pytest.mark.parametrize("po", FILES, ids=lambda po: po.parts[-3])


@cache
def texts() -> list[translations.TranslatableText]:
    return translations.texts()


def test_there_is_a_german_one() -> None:
    assert [po.parts[-3] for po in FILES] == ["de"]
    assert len(texts()) > 900


@files
def test_every_text_has_its_translation(po: Path) -> None:
    _, catalogue = translations.read(po)
    missing = [text.id for text in texts() if not all(catalogue.get(text) or [""])]
    assert not missing, UPDATE
    assert list(catalogue) == texts(), UPDATE


@files
def test_what_the_server_reads_is_what_was_translated(po: Path) -> None:
    assert po.with_suffix(".mo").read_bytes() == translations.compiled(*translations.read(po)), UPDATE


@files
def test_what_is_put_into_a_text_is_put_into_its_translation(po: Path) -> None:
    _, catalogue = translations.read(po)
    for text, forms in catalogue.items():
        for number, form in enumerate(forms):
            origin = text.plural if number and text.plural else text.id
            assert sorted(PLACES.findall(form)) == sorted(PLACES.findall(origin)), (origin, form)


def test_a_catalogue_survives_being_read_and_written(tmp_path: Path) -> None:
    catalogue = {
        translations.TranslatableText('Say "no"\n'): ["„Nein“\n"],
        translations.TranslatableText("{} day", "{} days"): ["{} Tag", "{} Tage"],
    }
    po = tmp_path / "django.po"
    po.write_text(translations.written('msgid ""\nmsgstr ""\n"Language: de\\n"', catalogue))
    assert translations.read(po)[1] == catalogue
    po.write_text(po.read_text().replace('msgid "Say', '#, fuzzy\nmsgid "Say'))
    assert translations.read(po)[1][translations.TranslatableText('Say "no"\n')] == []


def test_the_words_of_scripts_are_given_to_pages() -> None:
    assert {text.id for text in translations._script_texts()} == set(SCRIPT_TEXTS)


def test_texts_are_found_wherever_people_read_them() -> None:
    found = {text.id for text in texts()}
    assert "Skip to the content" in found, "of a template"
    assert "The token is deleted and no longer valid." in found, "of a view"
    assert "A task is still running here. Stop it first, or send a message to it." in found, "of a refusal"
    assert "The tool {0} is running." in found, "of what a task is doing"
    assert registry.get("file").activity["read"].partition("|")[0] in found, "of what a tool did"
    assert not any("You are asked" in text for text in found), "what models are asked is not translated"
