"""The reader of Jupyter notebooks (nbformat 4): source and outputs of each cell, without the data of pictures."""

import json
from collections.abc import Iterator
from typing import Any

from tools_app.documents.document import DocumentParseError, ParsedDocument, pages_of


def open_document(body: bytes) -> ParsedDocument:
    """Open a notebook.

    Raises: DocumentParseError.
    """
    notebook = json.loads(body)
    cells = notebook.get("cells")
    if not isinstance(cells, list):
        raise DocumentParseError("It is damaged, or no notebook.")
    title = str(notebook.get("metadata", {}).get("title", ""))
    return ParsedDocument(
        kind="notebook", unit="cell", title=title, parts=pages_of([_lines(cell) for cell in cells], "cell")
    )


def _lines(cell: dict[str, Any]) -> Iterator[str]:
    source = _joined(cell.get("source", cell.get("input", "")))
    if cell.get("cell_type") != "code":
        yield source
        return
    yield from ("```", source, "```")
    for output in cell.get("outputs", []):
        yield from _output(output)


def _output(output: dict[str, Any]) -> Iterator[str]:
    if output.get("output_type") == "error":
        yield f"Error: {output.get('ename')}: {output.get('evalue')}"
        return
    data = output.get("data", {})
    if text := _joined(output.get("text", data.get("text/plain", ""))):
        yield f"Output:\n{text}"
    for kind in data:
        if kind.startswith("image/"):
            yield f"[picture: {kind}]"


def _joined(text: Any) -> str:
    return "".join(map(str, text)) if isinstance(text, list) else str(text)
