"""Tags for the entries of a session's page, written in Python because templates take several times as long."""

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


class _UrlPrefixes(NamedTuple):
    """URL prefixes of a session's files, and of the ways to branch from its entries."""

    files: str
    branches: str


@register.simple_tag
@cache
def icon(name: str) -> SafeString:
    return format_html('<svg class="icon" aria-hidden="true"><use href="{}#{}"/></svg>', static("icons.svg"), name)


@register.simple_tag
def prose(text: str, session: Session) -> SafeString:
    """Render Markdown with links and pictures relative to the session's workspace."""
    return markdown.markdown(text, _url_prefixes(session.pk, get_script_prefix()).files)


@register.simple_tag
def article(item: Item, oob: bool) -> SafeString:
    """Return the start tag of an entry. `oob` marks it for an out-of-band swap by htmx."""
    classes = ("entry", item.entry.context_type, item.kind, "open" if item.is_open else "")
    stream = format_html(' data-stream="{}"', item.stream) if item.stream else ""
    swap = SafeString(' hx-swap-oob="true"' if oob else "")
    return format_html(_ARTICLE, item.id, " ".join(filter(None, classes)), item.seq, stream, swap)


@register.simple_tag
def branch(item: Item, session: Session, *, in_card: bool = False) -> SafeString:
    """Return the control to branch from an entry, which fetches its contents when opened. In a card it has a visible
    label.
    """
    label_class = SafeString("" if in_card else ' class="hidden"')
    address = _url_prefixes(session.pk, get_script_prefix()).branches
    words = gettext("Branch from here")
    return format_html(_BRANCH, item.id, icon("branch"), label_class, address, item.entry.seq, words=words)


@register.simple_tag
def announcer(item: Item, position: ItemPosition) -> SafeString:
    """Return the text that a screen reader announces for a new entry."""
    words = item.entry.content if item.failure else ""
    if position != "old" and item.kind:
        if item.kind == "ask":
            prefix = gettext("The agent asks:")
        else:
            prefix = gettext("Result:") if item.kind == "result" else gettext("The agent says:")
        words = f"{prefix} {item.words} {item.text}"
    elif position != "old" and item.words:
        words = item.words
    return format_html('<div id="announcer" hx-swap-oob="innerHTML">{}</div>', words) if words else SafeString()


@lru_cache(maxsize=1000)
def _url_prefixes(session: UUID, prefix: str) -> _UrlPrefixes:
    """Return the prefixes. They depend on nothing else, so they can be cached."""
    branches = reverse("ways", args=[session, 0]).removesuffix("0/")
    return _UrlPrefixes(files=reverse("upload", args=[session]), branches=branches)
