"""Tests that translations are complete and consistent, and are those that the server reads."""

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


def test_german_translation_exists() -> None:
    assert [po.parts[-3] for po in FILES] == ["de"]
    assert len(texts()) > 900


@files
def test_every_text_has_its_translation(po: Path) -> None:
    catalogue = translations.read(po)
    assert not translations.missing(catalogue), UPDATE
    ids = [translations.forms(message.id) for message in catalogue if message.id]
    assert ids == [(text.id, text.plural) if text.plural else (text.id,) for text in texts()], UPDATE


@files
def test_compiled_translations_are_current(po: Path) -> None:
    assert po.with_suffix(".mo").read_bytes() == translations.as_mo(translations.read(po)), UPDATE


@files
def test_placeholders_are_the_same_in_translations(po: Path) -> None:
    for message in translations.read(po):
        ids = translations.forms(message.id)
        for number, form in enumerate(translations.forms(message.string)):
            origin = ids[min(number, len(ids) - 1)]
            assert not message.id or sorted(PLACES.findall(form)) == sorted(PLACES.findall(origin)), (origin, form)


def test_translations_survive_an_update_and_new_texts_have_none(tmp_path: Path) -> None:
    po = tmp_path / "django.po"
    po.write_text(
        'msgid ""\nmsgstr ""\n"Language: de\\n"\n\n'
        'msgid "Skip to the content"\nmsgstr "Zum Inhalt"\n\nmsgid "Gone"\nmsgstr "Fort"\n'
    )
    catalogue = translations.read(po)
    translations.update(catalogue)
    po.write_bytes(translations.as_po(catalogue))
    assert 'msgid "Skip to the content"\nmsgstr "Zum Inhalt"\n' in po.read_text()
    assert "Gone" not in po.read_text()
    assert len(translations.missing(translations.read(po))) == len(texts()) - 1


def test_a_fuzzy_translation_counts_as_missing(tmp_path: Path) -> None:
    po = tmp_path / "django.po"
    po.write_text('msgid ""\nmsgstr ""\n"Language: de\\n"\n\n#, fuzzy\nmsgid "Say"\nmsgstr "Sagen"\n')
    assert translations.missing(translations.read(po)) == ["Say"]


def test_pages_receive_the_texts_of_scripts() -> None:
    assert {text.id for text in translations._script_texts()} == set(SCRIPT_TEXTS)


def test_texts_are_found_wherever_people_read_them() -> None:
    found = {text.id for text in texts()}
    assert "Skip to the content" in found, "of a template"
    assert "The token is deleted and no longer valid." in found, "of a view"
    assert "A task is still running here. Stop it first, or send a message to it." in found, "of a refusal"
    assert "The tool {0} is running." in found, "of what a task is doing"
    assert registry.get("file").activity["read"].partition("|")[0] in found, "of what a tool did"
    assert not any("You are asked" in text for text in found), "what models are asked is not translated"
