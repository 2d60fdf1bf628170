"""The parts of a workbook (ISO 29500-2), of which large ones are read in pieces."""

import zlib
from collections.abc import Iterator
from typing import IO
from zipfile import BadZipFile

from lxml import etree

from tools_app.documents.office.package import Package
from tools_app.documents.opendocument import Element

DAMAGED = (etree.XMLSyntaxError, BadZipFile, zlib.error, EOFError, ValueError)  # raised while a part is read


class WorkbookPackage(Package):
    """A package with parts that can be too large for memory."""

    def __contains__(self, path: str) -> bool:
        return path.lower() in self._names

    def parts(self, folder: str) -> list[str]:
        """Return the paths of the parts in a folder, such as "xl/persons/"."""
        return [path for path in self._names if path.startswith(folder)]

    def part(self, path: str, kind: str, usual: str) -> str:
        """Return the part of a kind that a part refers to, or the part with the usual name."""
        return next((target for target in self.related(path, kind) if target in self), usual)

    def open(self, path: str) -> IO[bytes]:
        """Open a part.

        Raises: KeyError if there is none.
        """
        return self._archive.open(self._names[path.lower()])

    def elements(self, path: str, name: str) -> Iterator[Element]:
        """Yield the elements of a part that have a name. They are then emptied."""
        if path not in self:
            return
        with self.open(path) as stream:
            for _, element in etree.iterparse(
                stream,
                tag=f"{{*}}{name}",
                resolve_entities=False,
                no_network=True,
                load_dtd=False,
                remove_comments=True,
                remove_pis=True,
            ):
                yield element
                element.clear()
                while element.getprevious() is not None:
                    del element.getparent()[0]
