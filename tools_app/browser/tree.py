"""The tree of a page as models see it: references name only the elements that can be acted on."""

import re
from collections.abc import Collection

# Roles of elements that a click or a text has an effect on.
_ROLES = frozenset(
    {
        *("button", "checkbox", "combobox", "link", "listbox", "menuitem", "menuitemcheckbox", "menuitemradio"),
        *("option", "radio", "searchbox", "slider", "spinbutton", "switch", "tab", "textbox", "treeitem"),
    }
)
# The role, name and attributes of an element's line. Names are JSON, so they contain no bare quote.
_ELEMENT = re.compile(r"""( *+- '?+)([a-z]++)((?: "(?:[^"\\]|\\.)*+")?+)((?: \[[^\[\]]*+\])++)""")
_ATTRIBUTE = re.compile(r"\[([\w-]++)=?+([^\[\]]*+)\]")
# A script that returns the boxes of other elements that take the focus, text or clicks.
FOCUSABLE_BOXES = """() => [...document.querySelectorAll(
    "body *:not(a, area, button, input, select, textarea, option, iframe, frame, embed, object)")]
    .filter(element => element.tabIndex >= 0 || element.isContentEditable || element.onclick).slice(0, 300)
    .map(element => element.getBoundingClientRect())
    .map(box => [box.x, box.y, box.width, box.height].map(Math.round).join())"""


def concise_tree(snapshot: str, focusable_boxes: Collection[str]) -> str:
    """Return a snapshot with boxes as a tree without them, and without references to elements that only show something.

    `focusable_boxes` are the boxes of further elements to act on.
    """
    boxes = frozenset(focusable_boxes)
    return "\n".join(_concise_line(line, boxes) for line in snapshot.split("\n"))


def _concise_line(line: str, focusable_boxes: frozenset[str]) -> str:
    element = _ELEMENT.match(line)
    if not element:
        return line
    start, role, name, attributes = element.groups()
    values = dict(_ATTRIBUTE.findall(attributes))
    can_be_acted_on = role in _ROLES or "cursor" in values or values.get("box") in focusable_boxes
    dropped = ("box", "cursor") if can_be_acted_on else ("box", "cursor", "ref")
    kept = [match[0] for match in _ATTRIBUTE.finditer(attributes) if match[1] not in dropped]
    return f"{start}{role}{name}{''.join(f' {attribute}' for attribute in kept)}{line[element.end() :]}"
