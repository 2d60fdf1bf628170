"""Groups of an agent's steps between two messages, each with a one-line summary in the reader's language."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import Any, NamedTuple

from django.utils.translation import get_language, gettext, ngettext

from tasks_app.models import CallStatus, ContextEntry, ContextType
from tasks_app.record.item import Item, named_files
from tools_app.contract import registry
from tools_app.errors import UnknownTool

MAX_PHRASE_CHARS, MAX_TEMPLATES = 60, 6  # characters of one call's phrase; templates in a line
_THINGS = ("{path}", "{url}")  # a template with one of these counts the things, not the calls
_COUNT = re.compile(r"\{#(\w+)\}")


class Phrase(NamedTuple):
    """A tool's activity template, the phrase that it gives for one call, and that phrase shortened.

    `files` are the paths that the phrase names, of a template that names those of several calls.
    """

    template: str
    whole: str
    short: str
    files: tuple[str, ...] = ()


def phrase_of_call(name: str, arguments: Mapping[str, Any]) -> Phrase:
    """Return “called <tool>”, for a call whose tool did not do its work."""
    tool = name.replace("__", ": ")
    argument = next((str(value) for value in arguments.values() if type(value) is str), "")
    phrase = gettext("called {}").format(f"{tool} ({' '.join(argument.split())})" if argument else tool)
    return _phrase(f"{gettext('called {}').format(tool)}|{gettext('called {} # times').format(tool)}", phrase)


def phrase_of(name: str, arguments: Mapping[str, Any], changed_files: Sequence[str] = ()) -> Phrase:
    """Return what a call did, from its tool's template: the form for one call, then “|” and the form for several.

    `changed_files` are named in place of the argument `path`, if the result lists them.
    """
    template = _activity_of(name, arguments)
    singular, _, plural = template.partition("|")
    files: tuple[str, ...] = ()
    if not plural and "{path}" in singular:
        path = arguments.get("path")
        files = tuple(changed_files) or ((path,) if isinstance(path, str) and path not in ("", ".") else ())
        arguments = {**arguments, "path": named_files(files) if files else None}
    singular = ngettext(singular, plural, 1) if plural else gettext(singular)
    singular = _COUNT.sub(lambda field: _quantity(field[1], arguments), singular)
    return _phrase(template, " ".join(registry.fill_template(singular, arguments).split()), files)


def _phrase(template: str, whole: str, files: tuple[str, ...] = ()) -> Phrase:
    short = whole if len(whole) <= MAX_PHRASE_CHARS else whole[: MAX_PHRASE_CHARS - 1] + "…"
    return Phrase(template, whole, short, files)


def activity_line(phrases: Iterable[Phrase]) -> str:
    """Return a line such as "Read 6 files, ran pytest twice", with templates in order of first use."""
    phrases_by_template: dict[str, list[Phrase]] = {}
    for phrase in phrases:
        phrases_by_template.setdefault(phrase.template, []).append(phrase)
    parts = [
        _combined(template, same_kind) for template, same_kind in list(phrases_by_template.items())[:MAX_TEMPLATES]
    ]
    line = ", ".join(parts + ([gettext("and more")] if len(phrases_by_template) > MAX_TEMPLATES else []))
    return line[:1].upper() + line[1:]


def _activity_of(name: str, arguments: Mapping[str, Any]) -> str:
    try:
        templates = registry.get(name).activity
    except UnknownTool:
        templates = registry.NO_ACTIVITY
    kinds = (str(arguments.get(key, "")) for key in ("action", "kind", "type"))
    template = next((templates[kind] for kind in kinds if kind in templates), templates.get(""))
    if not template and name.startswith("ask_"):  # an agent offered as a tool
        return gettext("asked {}").format(name.removeprefix("ask_").replace("_", " "))
    return template or gettext("used {}").format(name.replace("__", ": "))


def _combined(template: str, phrases: Sequence[Phrase]) -> str:
    """Return one phrase for all calls of a template. A thing that several calls were about counts once."""
    singular, _, plural = template.partition("|")
    distinct, times, short_phrase = len({phrase.whole for phrase in phrases}), len(phrases), phrases[0].short
    files = list(dict.fromkeys(path for phrase in phrases for path in phrase.files))
    if len(files) > 1 and distinct > 1:
        return registry.fill_template(gettext(singular), {"path": named_files(files)})
    if plural and distinct > 1:
        count = distinct if any(thing in singular for thing in _THINGS) else times
        return ngettext(singular, plural, count).replace("#", str(count))
    if times == 1:
        return short_phrase
    if times == 2:
        return gettext("{} twice").format(short_phrase)
    return gettext("{} {} times").format(short_phrase, times)


def _quantity(name: str, arguments: Mapping[str, Any]) -> str:
    """Return the length of a list argument with the argument's name, such as “3 files”."""
    value = arguments.get(name, "")
    count = len(value) if isinstance(value, list) else 1
    return f"{count} {ngettext(name.removesuffix('s'), name, count)}"


STEPS = (
    *(ContextType.TOOL_CALL, ContextType.TOOL_RESULT, ContextType.NO_TOOL_CALL_RETRY),
    *(ContextType.SYSTEM_REMINDER, ContextType.WORKFLOW_STEP, ContextType.STATUS_NOTICE),
)
_NOT_DONE = (CallStatus.BLOCKED, CallStatus.REJECTED)


def is_step(entry: ContextEntry) -> bool:
    """Return whether the entry belongs to the work between messages. A task's failure notice counts as a message."""
    return entry.context_type in STEPS and not entry.metadata.get("code")


@dataclass(frozen=True, kw_only=True)
class _Step:
    """A call and the facts of its result, which are lost when the item is rebuilt from the call alone."""

    item: Item
    status: str
    has_run: bool
    is_amiss: bool
    phrases: dict[str | None, Phrase] = field(default_factory=dict)

    @classmethod
    def of(cls, item: Item) -> "_Step":
        return cls(item=item, status=item.status, has_run=item.has_run, is_amiss=item.is_amiss)

    @property
    def phrase(self) -> Phrase:
        """The phrase in the active language."""
        if (language := get_language()) not in self.phrases:
            name, arguments = self.item.call["name"], self.item.arguments
            has_failed = self.item.result and not self.has_run
            self.phrases[language] = (
                phrase_of_call(name, arguments) if has_failed else phrase_of(name, arguments, self.item.patched_files)
            )
        return self.phrases[language]


def _change_phrase(steps: Iterable[_Step]) -> list[Phrase]:
    """Return a phrase of the files that calls changed without naming them, such as commands, or nothing."""
    changes = [step.item.change for step in steps if step.item.change and not step.phrase.files]
    paths = list(dict.fromkeys(path for change in changes for path in change.first_paths))
    if not paths:
        return []
    more = sum(change.further_paths for change in changes)
    template = gettext("changed {}")
    return [_phrase(template, template.format(named_files(paths, more)))]


class Activity:
    """Consecutive steps: the summary line, the counts of failed and rejected calls, and the agent's stated reason."""

    def __init__(self, items: Iterable[Item] = ()) -> None:
        self._steps: dict[str, _Step] = {}
        for item in items:
            self.add(item)

    def add(self, item: Item) -> None:
        """Add a step, or replace it when its result has arrived."""
        if item.entry.has_call:
            self._steps[item.call["id"]] = _Step.of(item)

    def redact(self, redact_entry: Callable[[ContextEntry], ContextEntry]) -> None:
        """Redact the steps again, for values that have become secrets."""
        for call_id, step in list(self._steps.items()):
            if (entry := redact_entry(step.item.entry)) is not step.item.entry:
                self._steps[call_id] = replace(step, item=Item(entry=entry), phrases={})

    @property
    def line(self) -> str:
        """The summary. Calls that were not allowed to run appear only if no other call did."""
        steps = list(self._steps.values())
        done = [step for step in steps if step.has_run or step.status not in _NOT_DONE]
        return activity_line([*(step.phrase for step in done or steps), *_change_phrase(done)])

    @property
    def amiss(self) -> int:
        """The number of calls that failed, were refused, or have an unknown outcome."""
        return sum(step.is_amiss for step in self._steps.values())

    @property
    def rejected(self) -> int:
        """The number of calls that people rejected."""
        return sum(step.status == CallStatus.REJECTED for step in self._steps.values())

    @property
    def why(self) -> str:
        """The text that the agent wrote next to its newest call that has any."""
        return next((words for step in reversed(self._steps.values()) if (words := step.item.words)), "")


@dataclass(frozen=True, kw_only=True)
class ItemGroup:
    """Consecutive items of a page. `activity` is set if they are steps."""

    items: Sequence[Item]
    activity: Activity | None

    @property
    def id(self) -> str:
        return f"g{self.items[0].entry.seq}"


def item_groups(items: Iterable[Item]) -> list[ItemGroup]:
    runs = [(steps, list(run)) for steps, run in groupby(items, key=lambda item: is_step(item.entry))]
    return [ItemGroup(items=run, activity=Activity(run) if steps else None) for steps, run in runs]
