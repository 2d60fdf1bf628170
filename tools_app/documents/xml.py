"""XML of strangers: without entities, documents from elsewhere, comments and processing instructions."""

import zipfile
from collections.abc import Iterator
from typing import Any

from lxml import etree

Element = Any  # of lxml, which has no types


def parse(data: bytes) -> Element:
    """Raises etree.XMLSyntaxError. Of its own accord the parser refuses a depth over 256 and texts over 10 MB."""
    parser = etree.XMLParser(
        resolve_entities=False, no_network=True, load_dtd=False, remove_comments=True, remove_pis=True
    )
    root = etree.fromstring(data, parser)
    etree.strip_elements(root, etree.Entity, with_tail=False)  # what is left of a reference
    return root


def part(archive: zipfile.ZipFile, name: str) -> Element | None:
    """The XML in an entry of the archive; None if there is none of this name."""
    return parse(archive.read(name)) if name in archive.namelist() else None


def local(element: Element) -> str:
    """The name without its namespace."""
    name: str = etree.QName(element).localname
    return name


def attribute(element: Element, name: str) -> str:
    """The value of an attribute in whichever namespace; empty without one."""
    values: Iterator[str] = (value for key, value in element.attrib.items() if key.endswith(f"}}{name}"))
    return next(values, "")
