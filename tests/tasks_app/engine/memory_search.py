"""A search of notes on the database of the environment, which prints the results as JSON."""

import json

import django
from django.core.management import call_command

QUESTIONS = ("billing", "東京の会議", "ÜBERGABE", "say 'and' | ! \\ (x):* & \"or\" NEAR", "nothing of it", "the")


def main() -> None:
    django.setup()
    call_command("migrate", verbosity=0)
    from tasks_app.memory.search import nearest_by_words
    from tasks_app.models import MemoryNote
    from tests import factories

    mine, other = factories.UserFactory(), factories.UserFactory()
    texts = (
        "Billing goes out on Tuesdays",
        "月曜日に東京で会議がある",
        "Die Übergabe ist am Freitag",
        "We say x' or y",
    )
    for text in texts:
        MemoryNote.objects.create(owner=mine, text=text)
    MemoryNote.objects.create(text="Billing is a matter of the team")
    MemoryNote.objects.create(owner=other, text="Billing of others")
    changed = MemoryNote.objects.create(owner=mine, text="billing, to be changed")
    changed.text = "no longer"
    changed.save()
    MemoryNote.objects.create(owner=mine, text="billing, to be deleted").delete()
    notes = MemoryNote.objects.visible_to(mine)
    print(json.dumps([sorted(note.text for note in nearest_by_words(notes, question, 9)) for question in QUESTIONS]))


if __name__ == "__main__":
    main()
