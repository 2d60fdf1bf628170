"""Few notes are given to every task, so that standing preferences hold without being mentioned."""

import pytest

from tasks_app.memory.search import significant_terms
from tasks_app.models import MemoryNote
from tests.tasks_app.engine.conftest import result

PREFERENCE = "Prices are always given in Swiss francs."


def start_of(run):
    run.advance()
    return next(entry.content for entry in run.entries if entry.metadata.get("kind") == "task_start")


def test_a_preference_holds_for_a_task_that_does_not_mention_it(play, owner):
    MemoryNote.objects.create(owner=owner, text=PREFERENCE)
    start = start_of(play(result()))
    assert PREFERENCE in start
    assert "Keep to the preferences" in start


def test_notes_that_are_long_together_are_only_searched(play, owner):
    MemoryNote.objects.create(owner=owner, text=PREFERENCE)
    MemoryNote.objects.create(owner=owner, text="Zebra crossing. " * 60)
    MemoryNote.objects.create(owner=owner, text="Quagga crossing. " * 58)
    assert PREFERENCE not in start_of(play(result()))


@pytest.mark.parametrize("word", ["this", "does", "when", "was", "bitte", "mir"])
def test_a_stop_word_finds_no_note(word):
    assert not significant_terms(f"{word} {word.upper()}")
