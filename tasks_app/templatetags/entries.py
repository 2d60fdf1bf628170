"""What each entry of a session's page has. Written by Python: a template takes several times as long, for each."""

from functools import cache, lru_cache
from typing import NamedTuple
from uuid import UUID

from django import template
from django.templatetags.static import static
from django.urls import get_script_prefix, reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext

from tasks_app.models import Session
from tasks_app.pages import markdown
from tasks_app.pages.fragments import ItemPosition
from tasks_app.record.item import Item

register = template.Library()
_ARTICLE = '<article id="{}" class="{}" data-seq="{}"{}{}>'
_BRANCH = (
    '<details class="branch" id="{}-branch"><summary class="quiet-button" title="{words}">{}'
    '<span{}>{words}</span></summary><div class="later"><a href="{}{}/">{words}</a></div></details>'
)


class _Addresses(NamedTuple):
    """Of a session's files, and of the ways to go on from its entries: both lack their end."""

    files: str
    ways: str


@register.simple_tag
@cache
def icon(name: str) -> SafeString:
    return format_html('<svg class="icon" aria-hidden="true"><use href="{}#{}"/></svg>', static("icons.svg"), name)


@register.simple_tag
def prose(text: str, session: Session) -> SafeString:
    """Markdown, with the session's workspace behind relative links and pictures."""
    return markdown.markdown(text, _addresses(session.pk, get_script_prefix()).files)


@register.simple_tag
def article(item: Item, oob: bool) -> SafeString:
    """The start tag around an entry; `oob` as for fragments."""
    classes = ("entry", item.entry.context_type, item.kind, "open" if item.is_open else "")
    stream = format_html(' data-stream="{}"', item.stream) if item.stream else ""
    swap = SafeString(' hx-swap-oob="true"' if oob else "")
    return format_html(_ARTICLE, item.id, " ".join(filter(None, classes)), item.seq, stream, swap)


@register.simple_tag
def branch(item: Item, session: Session, *, in_card: bool = False) -> SafeString:
    """Where one goes another way from an entry; the ways are fetched when it is opened. In a card it has its words."""
    hidden, ways = SafeString("" if in_card else ' class="hidden"'), _addresses(session.pk, get_script_prefix()).ways
    words = gettext("Branch from here")
    return format_html(_BRANCH, item.id, icon("branch"), hidden, ways, item.entry.seq, words=words)


@register.simple_tag
def announcer(item: Item, place: ItemPosition) -> SafeString:
    """What a screen reader says of an entry that has come."""
    words = item.entry.content if item.failure else ""
    if place != "old" and item.kind:
        words = f"{_heralded(item.kind)} {item.words} {item.text}"
    elif place != "old" and item.words:
        words = item.words
    return format_html('<div id="announcer" hx-swap-oob="innerHTML">{}</div>', words) if words else SafeString()


def _heralded(kind: str) -> str:
    if kind == "ask":
        return gettext("The agent asks:")
    return gettext("Result:") if kind == "result" else gettext("The agent says:")


@lru_cache(maxsize=1000)
def _addresses(session: UUID, prefix: str) -> _Addresses:
    """Nothing but these two decides: the patterns of addresses are part of the program."""
    ways = reverse("ways", args=[session, 0]).removesuffix("0/")
    return _Addresses(files=reverse("upload", args=[session]), ways=ways)
