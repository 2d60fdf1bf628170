"""An Office file as a package of parts with relationships (ISO 29500-2), also a damaged or unusual one.

Kinds of relationships are compared by their last word, so that the namespaces of strict OOXML are read as well.
"""

import zipfile
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from io import BytesIO
from posixpath import basename, dirname, join, normpath
from urllib.parse import unquote

from lxml import etree
from PIL import Image

from tools_app.documents.opendocument import Element, attribute, local_name, parse, parse_damaged

_EMU_PER_CM = 360_000
_TITLE = "{http://purl.org/dc/elements/1.1/}title"


@dataclass(frozen=True, kw_only=True)
class Relationship:
    """The target of a part's relationship: the path of another part, or an address outside of the file."""

    kind: str
    target: str
    is_external: bool


class Package:
    """The parts of an Office file, by path. Names are compared without case, and a backslash is a slash."""

    def __init__(self, body: bytes) -> None:
        self.damaged_parts: set[str] = set()
        self._archive = zipfile.ZipFile(BytesIO(body))
        self._names = {name.replace("\\", "/").lstrip("/").lower(): name for name in self._archive.namelist()}

    def read(self, path: str) -> bytes | None:
        """Return the content of a part, or None if it is missing or damaged."""
        name = self._names.get(path.lower())
        try:
            return None if name is None else self._archive.read(name)
        except (zipfile.BadZipFile, zlib.error, NotImplementedError, EOFError):
            self.damaged_parts.add(path)
            return None

    def xml(self, path: str) -> Element | None:
        """Return the root of a part. Of a damaged part, return the part before the damage."""
        data = self.read(path)
        if not data:
            return None
        try:
            return parse(data)
        except etree.XMLSyntaxError:
            self.damaged_parts.add(path)
            return parse_damaged(data)

    def relationships(self, path: str) -> Mapping[str, Relationship]:
        """Return the relationships of a part by id."""
        folder, _, name = path.rpartition("/")
        root = self.xml(join(folder, "_rels", f"{name}.rels"))
        return {
            element.get("Id", ""): _relationship(element, folder)
            for element in (root.iterchildren("{*}Relationship") if root is not None else ())
        }

    def related(self, path: str, kind: str) -> Iterator[str]:
        """Yield the paths of the parts that a part relates to by this kind.

        Without any relationship, yield the part with the usual name.
        """
        relationships = self.relationships(path)
        for relationship in relationships.values():
            if relationship.kind == kind and not relationship.is_external:
                yield relationship.target
        usual = join(dirname(path), f"{kind}.xml")
        if not relationships and usual.lower() in self._names:
            yield usual

    def numbered(self, prefix: str) -> list[str]:
        """Return the parts whose names are the prefix and a number, by this number."""
        numbers = {
            name: name.removeprefix(prefix).removesuffix(".xml") for name in self._names if name.startswith(prefix)
        }
        return sorted(
            (name for name, number in numbers.items() if number.isdecimal()), key=lambda name: int(numbers[name])
        )

    def main_part(self, usual: str) -> str:
        """Return the path of the main part, which is `usual` unless the package names another."""
        return next(self.related("", "officeDocument"), usual)

    def main_xml(self, path: str, name: str) -> Element:
        """Return the root of the main part.

        Raises: ValueError if it is missing, or no element of this name.
        """
        root = self.xml(path)
        if root is None or local_name(root) != name:
            raise ValueError(path)
        return root

    def title(self) -> str:
        """Return the title in the properties of the file, or ""."""
        core = next(map(self.xml, self.related("", "core-properties")), None)
        return (core.findtext(f".//{_TITLE}") or "") if core is not None else ""


def _relationship(element: Element, folder: str) -> Relationship:
    target, is_external = element.get("Target", ""), element.get("TargetMode") == "External"
    if not is_external:
        target = normpath(join("/", folder, unquote(target.replace("\\", "/")))).lstrip("/")
    return Relationship(kind=element.get("Type", "").rpartition("/")[2], target=target, is_external=is_external)


class Pictures:
    """The pictures of a document, numbered in the order of reading."""

    def __init__(self, package: Package) -> None:
        self._package = package
        self._count = 0

    def line(
        self, relationship: Relationship | None, *, name: str = "", description: str = "", extent: str = ""
    ) -> str:
        """Return the line that names a picture: its number, file, size and description.

        `name` is the file's name before it was inserted, `extent` the size on the page if the file has none in pixels.
        """
        self._count += 1
        if relationship is None:
            details = ["missing"]
        elif relationship.is_external:
            details = [relationship.target]
        else:
            stored_name = basename(relationship.target)
            original_name = name if "." in name and name != stored_name else ""
            details = [stored_name, self._size(relationship.target) or extent, original_name]
        text = f"picture {self._count}: {', '.join(filter(None, details))}"
        return f"[{text}: {' '.join(description.split())}]" if description.strip() else f"[{text}]"

    def _size(self, path: str) -> str:
        """Return the size in pixels, or "" if the format is unknown."""
        try:
            width, height = Image.open(BytesIO(self._package.read(path) or b"")).size
        except Exception:  # noqa: BLE001  Pillow raises any error for damaged pictures
            return ""
        return f"{width} × {height}"


def extent_of(element: Element | None) -> str:
    """Return the size of an element with `cx` and `cy` (a:ext, wp:extent) in centimetres, or ""."""
    try:
        width, height = (
            (int(element.get(name, "")) / _EMU_PER_CM for name in ("cx", "cy")) if element is not None else (0, 0)
        )
    except ValueError:
        return ""
    return f"{width:.1f} × {height:.1f} cm" if width > 0 else ""


def embedded_file(package: Package, relationship: Relationship | None, program: str = "") -> str:
    """Return the line that names an embedded or linked file, with the program that made it."""
    if relationship is None:
        return f"[embedded file: missing{f', {program}' if program else ''}]"
    name = basename(relationship.target)
    packed_name = _packed_name(package.read(relationship.target) or b"") if not relationship.is_external else ""
    kind = "linked" if relationship.is_external else "embedded"
    names = f"{packed_name} in {name}" if packed_name else relationship.target if relationship.is_external else name
    return f"[{kind} file: {names}{f', {program}' if program else ''}]"


def _packed_name(data: bytes) -> str:
    """Return the name of a file inside an OLE object ([MS-OLEDS] 2.3.6, Ole10Native), or ""."""
    import olefile  # type: ignore[import-untyped]

    try:
        with olefile.OleFileIO(BytesIO(data)) as container:
            native = container.openstream("\x01Ole10Native").read()
    except Exception:  # noqa: BLE001  it raises any error for damaged data
        return ""
    name = str(native[6:].partition(b"\0")[0].decode("cp1252", "replace"))
    return name if "." in name and name.isprintable() else ""


def relation_id(element: Element, name: str = "id") -> str:
    """Return an attribute of the namespace of relationships, such as r:id."""
    return attribute(element, name)
