"""Small Office files, each with one kind of content, and the words and numbers that readers must show."""

from tests.tools_app.office import decks, more, word_objects, word_texts
from tests.tools_app.office.files import Case

CASES: list[Case] = [*word_texts.CASES, *word_objects.CASES, *decks.CASES, *more.CASES]
