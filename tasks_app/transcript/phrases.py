"""What calls did, in a line of words that each tool brings along, in the language of the moment."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from django.utils.translation import gettext, ngettext

from tools_app.contract import registry
from tools_app.errors import UnknownTool

LONGEST_PHRASE, MOST_PHRASES = 60, 6  # characters of what one call did; kinds of calls that are named in a line
Phrase = tuple[str, str]  # the template of an activity, and it filled in for one call
_COUNT = re.compile(r"\{#(\w+)\}")


def phrase_of(name: str, arguments: Mapping[str, Any]) -> Phrase:
    """What a call did, by the template of its tool: for one call, and behind a bar for several."""
    template = _activity_of(name, arguments)
    one, _, several = template.partition("|")
    one = ngettext(one, several, 1) if several else gettext(one)
    one = _COUNT.sub(lambda field: _counted(field[1], arguments), one)
    words = " ".join(registry.filled_template(one, arguments).split())
    return template, words if len(words) <= LONGEST_PHRASE else words[: LONGEST_PHRASE - 1] + "…"


def activity_line(phrases: Iterable[Phrase]) -> str:
    """What calls did: "Read 6 files, ran pytest twice". By kind, in the order of their first ones."""
    said: dict[str, list[str]] = {}
    for template, words in phrases:
        said.setdefault(template, []).append(words)
    named = [_together(template, words) for template, words in list(said.items())[:MOST_PHRASES]]
    line = ", ".join(named + ([gettext("and more")] if len(said) > MOST_PHRASES else []))
    return line[:1].upper() + line[1:]


def _activity_of(name: str, arguments: Mapping[str, Any]) -> str:
    try:
        phrases = registry.get(name).activity
    except UnknownTool:
        phrases = registry.NO_ACTIVITY
    kinds = (str(arguments.get(key, "")) for key in ("action", "kind", "type"))
    found = next((phrases[kind] for kind in kinds if kind in phrases), phrases.get(""))
    if not found and name.startswith("ask_"):  # an agent that is offered as a tool
        return gettext("asked {}").format(name.removeprefix("ask_").replace("_", " "))
    return found or gettext("used {}").format(name.replace("__", ": "))


def _together(template: str, said: Sequence[str]) -> str:
    one, _, several = template.partition("|")
    different, times = len(set(said)), len(said)
    if several and different > 1:
        return ngettext(one, several, different).replace("#", str(different))
    if times == 1:
        return said[0]
    return gettext("{} twice").format(said[0]) if times == 2 else gettext("{} {} times").format(said[0], times)


def _counted(name: str, arguments: Mapping[str, Any]) -> str:
    """How many there are of what an argument lists."""
    value = arguments.get(name, "")
    count = len(value) if isinstance(value, list) else 1
    return f"{count} {ngettext(name.removesuffix('s'), name, count)}"
