"""Footnotes, endnotes (ISO 29500-1, 17.11) and comments (17.13.4, with replies of [MS-DOCX] 2.5.1)."""

from collections.abc import Callable, Iterator

from tools_app.documents.opendocument import Element, attribute, local_name
from tools_app.documents.word.numbering import written
from tools_app.documents.word.runs import WordFile
from tools_app.documents.word.story import Story

_MAX_ANCHOR = 120  # characters of the text that a comment is about
_ELEMENTS = {"footnoteReference": "footnote", "endnoteReference": "endnote", "commentReference": "comment"}
_FORMS = {"footnote": "decimal", "endnote": "lowerRoman"}  # 17.11.17, 17.11.18: without a format of their own


class Notes:
    """The notes and comments of a document. `add` receives the lines of a note below the page that refers to it."""

    def __init__(self, file: WordFile, main_path: str, settings: Element | None, add: Callable[[str], None]) -> None:
        self._file = file
        self._add = add
        self._stories: dict[str, Story] = {}
        self._elements: dict[tuple[str, str], Element] = {}
        self._counts = {"footnote": 0, "endnote": 0}
        self._shown: set[str] = set()
        for name in _ELEMENTS.values():
            for path in file.package.related(main_path, f"{name}s"):
                if (root := file.package.xml(path)) is not None:
                    self._stories[name] = Story(file, path, root)
                    for element in root.iterchildren(f"{{*}}{name}"):
                        self._elements[name, attribute(element, "id")] = element
        self._forms = {name: _form(settings, name) or form for name, form in _FORMS.items()}
        self._parents, self._resolved = _threads(file, main_path)
        self._paragraphs = {
            paragraph: key
            for (name, key), element in self._elements.items()
            if name == "comment"
            for paragraph in self._paragraph_ids(element)
        }

    def mark(self, reference: Element, label: str) -> str:
        """Return the mark of a note where it is referred to, and add its text below the page."""
        name, key = _ELEMENTS[local_name(reference)], attribute(reference, "id")
        element = self._elements.get((name, key))
        if element is None:
            return ""
        if name == "comment":
            if self._parent(element):  # listed below the comment that it answers
                return ""
            self._comment(key, element)
            return f"[comment {key}]"
        if not label:
            self._counts[name] += 1
            label = written(self._counts[name], self._forms[name])
        mark = f"[^{label.strip()}]"
        self._add(f"{mark}: {self._text(name, element)}")
        return mark

    def remaining_comments(self) -> None:
        """Add the comments that no text refers to."""
        for (name, key), element in self._elements.items():
            if name == "comment" and key not in self._shown:
                self._comment(key, element)

    def _comment(self, key: str, element: Element) -> None:
        self._shown.add(key)
        parent = self._parent(element)
        details = [attribute(element, "author") or "unknown author", attribute(element, "date")[:10]]
        details.append("resolved" if self._paragraph_ids(element) & self._resolved else "")
        anchor = " ".join("".join(self._file.anchors.get(key, [])).split())
        if parent:
            details.append(f"reply to comment {parent}")
        elif anchor:
            details.append(f"on “{anchor if len(anchor) <= _MAX_ANCHOR else f'{anchor[:_MAX_ANCHOR]}…'}”")
        self._add(f"[comment {key}]: {', '.join(filter(None, details))}: {self._text('comment', element)}")
        for reply, child in ((other, one) for (name, other), one in self._elements.items() if name == "comment"):
            if reply not in self._shown and self._parent(child) == key:
                self._comment(reply, child)

    def _text(self, name: str, element: Element) -> str:
        return " ".join(self._stories[name].flat(element).split())

    def _paragraph_ids(self, element: Element) -> set[str]:
        return {key for paragraph in element.iter("{*}p") if (key := attribute(paragraph, "paraId"))}

    def _parent(self, element: Element) -> str:
        """Return the id of the comment that this one answers, or ""."""
        parents = (self._parents.get(key, "") for key in self._paragraph_ids(element))
        return next((self._paragraphs[parent] for parent in parents if parent in self._paragraphs), "")


def _threads(file: WordFile, main_path: str) -> tuple[dict[str, str], set[str]]:
    """Return the answered paragraph of each answering paragraph of comments, and the resolved ones."""
    parents, resolved = {}, set()
    for path in file.package.related(main_path, "commentsExtended"):
        root = file.package.xml(path)
        for element in root.iter("{*}commentEx") if root is not None else ():
            key = attribute(element, "paraId")
            if parent := attribute(element, "paraIdParent"):
                parents[key] = parent
            if attribute(element, "done") in ("1", "true"):
                resolved.add(key)
    return parents, resolved


def _form(settings: Element | None, name: str) -> str:
    """Return the format of the numbers of notes in the settings (17.11.18), or ""."""
    formats = settings.iterfind(f"{{*}}{name}Pr/{{*}}numFmt") if settings is not None else iter(())
    return next((attribute(element, "val") for element in formats), "")


def authors_of_changes(roots: Iterator[Element]) -> set[tuple[str, str]]:
    """Return author and day of each tracked change of the text. Changed formats do not count."""
    changes = (change for root in roots for change in root.iter("{*}ins", "{*}del", "{*}moveTo", "{*}moveFrom"))
    return {(attribute(change, "author") or "an unknown author", attribute(change, "date")[:10]) for change in changes}
