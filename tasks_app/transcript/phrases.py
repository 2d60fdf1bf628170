"""What calls did, in a line of words that each tool brings along, in the language of the moment."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from django.utils.translation import gettext, ngettext

from tools_app.contract import registry
from tools_app.errors import UnknownTool

LONGEST_PHRASE, MOST_PHRASES = 60, 6  # characters of what one call did; kinds of calls that are named in a line
_OF_THINGS = ("{path}", "{url}")  # in a template: what is counted are these, not the calls
_COUNT = re.compile(r"\{#(\w+)\}")


class Phrase(NamedTuple):
    """The template of an activity, it filled in for one call, and the same shortened."""

    template: str
    whole: str
    words: str


def phrase_of_call(name: str, arguments: Mapping[str, Any]) -> Phrase:
    """That a tool was called, of a call that has not done what its tool does."""
    called = name.replace("__", ": ")
    given = next((str(value) for value in arguments.values() if type(value) is str), "")
    one = gettext("called {}").format(f"{called} ({' '.join(given.split())})" if given else called)
    return _phrase(f"{gettext('called {}').format(called)}|{gettext('called {} # times').format(called)}", one)


def phrase_of(name: str, arguments: Mapping[str, Any]) -> Phrase:
    """What a call did, by the template of its tool: for one call, and behind a bar for several."""
    template = _activity_of(name, arguments)
    one, _, several = template.partition("|")
    one = ngettext(one, several, 1) if several else gettext(one)
    one = _COUNT.sub(lambda field: _counted(field[1], arguments), one)
    return _phrase(template, " ".join(registry.filled_template(one, arguments).split()))


def _phrase(template: str, whole: str) -> Phrase:
    return Phrase(template, whole, whole if len(whole) <= LONGEST_PHRASE else whole[: LONGEST_PHRASE - 1] + "…")


def activity_line(phrases: Iterable[Phrase]) -> str:
    """What calls did: "Read 6 files, ran pytest twice". By kind, in the order of their first ones."""
    said: dict[str, list[Phrase]] = {}
    for phrase in phrases:
        said.setdefault(phrase.template, []).append(phrase)
    named = [_together(template, of_kind) for template, of_kind in list(said.items())[:MOST_PHRASES]]
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


def _together(template: str, phrases: Sequence[Phrase]) -> str:
    """Every call is counted, but things that several calls were about only once."""
    one, _, several = template.partition("|")
    different, times, words = len({phrase.whole for phrase in phrases}), len(phrases), phrases[0].words
    if several and different > 1:
        count = different if any(thing in one for thing in _OF_THINGS) else times
        return ngettext(one, several, count).replace("#", str(count))
    if times == 1:
        return words
    return gettext("{} twice").format(words) if times == 2 else gettext("{} {} times").format(words, times)


def _counted(name: str, arguments: Mapping[str, Any]) -> str:
    """How many there are of what an argument lists."""
    value = arguments.get(name, "")
    count = len(value) if isinstance(value, list) else 1
    return f"{count} {ngettext(name.removesuffix('s'), name, count)}"
