"""Complex fields (ISO 29500-1, 17.16.18): an instruction, and the result that was last computed."""

import re
from dataclasses import dataclass, field
from typing import Any

from tools_app.documents.opendocument import Element, attribute, local_name

_WORD = re.compile(r'"[^"]*+"|[^\s"]++')
# Fields that mark a place, and are never printed (17.16.5).
_UNPRINTED = {"XE", "TC", "TA", "RD", "SET", "PRIVATE", "ASK", "FILLIN", "NEXT", "SKIPIF", "NEXTIF", "ADVANCE"}
_CHECKED, _UNCHECKED = "☒", "☐"


@dataclass(kw_only=True)
class OpenField:
    """A field that has begun. `segments` is the list that its result goes to, from `start` on."""

    form: Element | None
    instruction: str = ""
    has_result: bool = False
    segments: list[Any] = field(default_factory=list)
    start: int = 0


def unmatched(story: Element) -> set[Element]:
    """Return the `fldChar` elements of fields that never end, or never begin."""
    waiting: list[list[Element]] = []
    odd: set[Element] = set()
    for element in story.iter("{*}fldChar"):
        kind = attribute(element, "fldCharType")
        if kind == "begin":
            waiting.append([element])
        elif not waiting:
            odd.add(element)
        elif kind == "end":
            waiting.pop()
        else:
            waiting[-1].append(element)
    return odd.union(*waiting)


def words(instruction: str) -> list[str]:
    """Return the words of an instruction, without quotation marks."""
    return [word.strip('"') for word in _WORD.findall(instruction)]


def address(instruction: str) -> str:
    """Return the address that a HYPERLINK field leads to, or "" for another field or a place in the document."""
    name, *arguments = words(instruction) or [""]
    if name.upper() != "HYPERLINK":
        return ""
    anchor = next((arguments[index + 1] for index, word in enumerate(arguments[:-1]) if word == "\\l"), "")
    target = arguments[0] if arguments and not arguments[0].startswith("\\") else ""
    return f"{target}#{anchor}" if target and anchor else target


def without_result(instruction: str) -> str:
    """Return the text in place of a field whose result was never computed."""
    name, *arguments = words(instruction) or [""]
    if name.upper() in ("MACROBUTTON", "GOTOBUTTON"):  # its instruction is its text
        return " ".join(arguments[1:])
    if name.upper() == "HYPERLINK":
        return address(instruction)
    if not name or name.upper() in _UNPRINTED:
        return ""
    return f"[field {' '.join([name, *arguments])}]"


def form_value(form: Element) -> str:
    """Return the state of a check box or list (17.16.17), or "" for a text."""
    for control in form:
        if local_name(control) == "checkBox":
            state = control.find("{*}checked") if control.find("{*}checked") is not None else control.find("{*}default")
            return _CHECKED if state is not None and is_on(state) else _UNCHECKED
        if local_name(control) == "ddList":
            names = [attribute(entry, "val") for entry in control.iterchildren("{*}listEntry")]
            result = control.find("{*}result") if control.find("{*}result") is not None else control.find("{*}default")
            number = attribute(result, "val") if result is not None else "0"
            chosen = names[int(number)] if number.isdecimal() and int(number) < len(names) else ""
            return f"{chosen} [choices: {', '.join(names)}]".strip()
    return ""


def is_on(element: Element) -> bool:
    """Return the value of a property that is on unless it says otherwise (17.17.4)."""
    return attribute(element, "val") not in ("0", "false", "off")


@dataclass(frozen=True, kw_only=True)
class Control:
    """A content control (17.5.2). `state` replaces its content, `choices` follow it."""

    state: str
    choices: str
    name: str
    is_empty: bool


def control_of(properties: Element | None) -> Control | None:
    """Return the control, or None if its content is all that it shows."""
    if properties is None:
        return None
    box = properties.find("{*}checkbox")
    state = ""
    if box is not None:
        checked = box.find("{*}checked")
        state = _CHECKED if checked is not None and is_on(checked) else _UNCHECKED
    names: list[str] = []
    for choice_list in properties.iterchildren("{*}dropDownList", "{*}comboBox"):
        for entry in choice_list.iterchildren("{*}listItem"):
            names.append(attribute(entry, "displayText") or attribute(entry, "value"))
    placeholder, alias = properties.find("{*}showingPlcHdr"), properties.find("{*}alias")
    is_empty = placeholder is not None and is_on(placeholder)
    if not (state or names or is_empty):
        return None
    choices = f" [choices: {', '.join(names)}]" if names else ""
    name = attribute(alias, "val") if alias is not None else ""
    return Control(state=state, choices=choices, name=name, is_empty=is_empty)
