"""How many tokens a text costs, before a provider has said so."""

from tasks_app.models import ContextEntry

BYTES = 3  # of a token, in UTF-8
PICTURE = 1_600  # tokens: what the largest that we send costs, at those who say so
FRAME = 4  # tokens of a message beside its text


def estimate(text: str) -> int:
    """UTF-8 bytes / 3: high for prose, about right for code and for scripts other than Latin."""
    return len(text.encode(errors="replace")) // BYTES


def of_entry(entry: ContextEntry) -> int:
    """Of the message that an entry is: its words, its call, its thinking, its pictures."""
    texts = (entry.content, entry.tool_call, entry.thought)
    return FRAME + sum(map(estimate, texts)) + PICTURE * len(entry.pictures)


def of_view(view: str) -> int:
    """Of a message that is only these words."""
    return FRAME + estimate(view)
