"""After a message to the person in another language than theirs; once a task."""

from tasks_app.record.draft import Draft, reminder
from tasks_app.text.languages import language_of


def language(written: str, persons_words: str) -> Draft | None:
    """Conservative: only where both languages are plain to see."""
    used, wanted = language_of(written), language_of(persons_words)
    if not used or not wanted or used == wanted:
        return None
    text = (
        f"Your last message is in {used}, but the person writes {wanted}. Write to them in {wanted} from now on, "
        "unless they or their preferences ask for another language. Code, names and quotations stay as they are."
    )
    return reminder(text, "language")
