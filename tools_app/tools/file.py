"""The tool `file`, which reads and changes files of the workspace."""

import asyncio
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from io import TextIOWrapper
from itertools import dropwhile
from pathlib import PurePosixPath
from typing import TextIO

from tools_app.contract import Danger, Judgement, Target, ToolContext, ToolResult, tool
from tools_app.documents.document_page import document_page
from tools_app.documents.formats import has_signature, is_document
from tools_app.documents.reader import MOST_BYTES, page_sheet, read_document
from tools_app.documents.view import HINT_ON_PLACES, encoding_of, places_of, region_of
from tools_app.editing import changes, patch
from tools_app.editing.syntax_check import notes_on_syntax
from tools_app.editing.written_pdf import write_pdf
from tools_app.errors import ToolError
from tools_app.files import RESULTS, Workspace, clipped, convertible_type, in_units, text_page
from tools_app.files.encoding import detect_encoding, read_sample
from tools_app.paging import LONG_ENOUGH, fitting_items, next_call, size
from tools_app.shell.secrets import with_secrets
from tools_app.tools.file_arguments import SYNONYMS, FileArguments
from tools_app.tools.match import files_like

_FRAME_BYTES = 120  # bytes around the call for the next page
_MAX_NAMED_PATHS = 3  # paths in a reason
_WILDCARD = re.compile(r"[*?\[{]")
_HEADING = "==> {} <=="  # of one of several files
_LEAST_PART = 300  # bytes of a page for one of several files
_MAX_REST_BYTES = 300  # bytes of the names of files that come on the next pages
_MAX_PICTURES = 4  # of several files
_MAX_SHEET = 9  # pages in one picture
_MAX_SUMMARY = 300  # characters


def judge(arguments: FileArguments, workspace: Workspace) -> Judgement:
    if arguments.action in ("read", "list"):
        return Judgement(danger=Danger.SAFE)
    if arguments.action == "delete" and (loss := _loss(arguments.path, workspace)):
        return Judgement(
            danger=Danger.DANGEROUS, rule=f"deletes {arguments.path}, {loss}", covers=f"delete {arguments.path}"
        )
    verb = "deletes" if arguments.action == "delete" else "changes"
    return Judgement(danger=Danger.MODERATE, rule=f"{verb} files of the workspace")


def _loss(path: str, workspace: Workspace) -> str:
    """Return what a deletion would lose, or "". The text names the files, so that an approval is not valid
    for others.
    """
    try:
        lost = workspace.unrestorable(path)
    except ToolError:  # the call reports the error
        return ""
    more = f" and {len(lost) - _MAX_NAMED_PATHS} more" if len(lost) > _MAX_NAMED_PATHS else ""
    return f"of which the file history does not keep {', '.join(lost[:_MAX_NAMED_PATHS])}{more}" if lost else ""


@tool(
    name="file",
    description="Reads and changes files of the workspace. Rather edit or patch a file than write it again.",
    arguments=FileArguments,
    danger=Danger.SAFE,
    judge=judge,
    target=Target.ENGINE,
    compact_template="file {action}[ {path}][ {paths}][ → {to}][ from {offset}][ and {skip} on][, at most {limit}]"
    "[: {content}]",
    activity={
        "read": "read {path}[ {paths}]|read # files",
        "write": "wrote {path}",
        "append": "added to {path}",
        "edit": "edited {path}",
        "patch": "patched[ {path}]",
        "list": "listed[ {path}]|listed # folders",
        "move": "moved {path}",
        "delete": "deleted {path}",
    },
    takes_secrets=True,
    shows_plan_step=True,
    synonyms=SYNONYMS,
)
async def file(arguments: FileArguments, context: ToolContext) -> ToolResult:
    arguments = with_secrets(arguments, context.secrets, "content", "old", "new")
    if arguments.action == "read":
        is_pattern = _WILDCARD.search(arguments.path) and not context.workspace.is_file(arguments.path)
        if arguments.paths or is_pattern:
            return await _read_several(arguments, context)
        return await _read(arguments, context)
    if arguments.action == "list":
        return await asyncio.to_thread(_list, arguments, context)
    text = arguments.content or ""
    if arguments.action == "write" and arguments.path.lower().endswith(".pdf") and not text.startswith("%PDF"):
        return await write_pdf(arguments.path, text, context.workspace)
    result = await asyncio.to_thread(_ACTIONS[arguments.action], arguments, context.workspace)
    if arguments.action in ("move", "delete"):
        return result
    changed = result.metadata.get("paths", [arguments.path])
    return replace(result, notes=[*result.notes, *await notes_on_syntax(changed, context.workspace)])


async def _read(arguments: FileArguments, context: ToolContext) -> ToolResult:
    places = places_of(arguments.view)
    if places is None and (plain := await asyncio.to_thread(_read_plain, arguments, context)):
        return plain
    data = await asyncio.to_thread(context.workspace.read_bytes, arguments.path, MOST_BYTES)
    offset = arguments.offset or 1
    if places is not None:
        return await _pictured(data, arguments, places, context.workspace)
    page = await document_page(
        data,
        arguments.path,
        offset=offset,
        skip=arguments.skip or 0,
        limit=arguments.limit,
        room=context.page_bytes,
        is_source=arguments.view == "source",
        next_call=lambda offset, skip, limit: _next_page(
            arguments, limit, text_page.TextPosition(line=offset, offset=skip or 0)
        ),
    )
    return ToolResult(content=str(page), cut="none", summary=page.position, metadata=_goes_on(arguments, page.has_more))


async def _pictured(data: bytes, arguments: FileArguments, places: Sequence[str], workspace: Workspace) -> ToolResult:
    """Return a page of a PDF as a picture, a part of it in full resolution, or a sheet with several pages."""
    first = arguments.offset or 1
    if first < 0:
        first = max(1, first + (await read_document(data, arguments.path, room=1)).count + 1)
    pages_shown = 1 if places else min(arguments.limit or 1, _MAX_SHEET)
    sheet = await page_sheet(data, arguments.path, first, pages_shown, region_of(places))
    name, pages = "-".join([f"{first}", *places]), f"{' '.join(places)} of page {first}" if places else f"page {first}"
    if sheet.last > first:
        name, pages = f"{first}-{sheet.last}", f"pages {first} to {sheet.last}"
    path = f"{RESULTS}/{PurePosixPath(arguments.path).stem}-{name}.png"
    await asyncio.to_thread(workspace.write_bytes, path, sheet.picture)
    content = f"{path} shows {pages} of {arguments.path}.{'' if places or pages_shown > 1 else HINT_ON_PLACES}"
    if arguments.limit and sheet.last < sheet.total:
        content += f"\n[{pages} of {sheet.total:,}; the next one is offset={sheet.last + 1}]"
    return ToolResult(content=content, images=[path], summary=f"{pages} of {sheet.total:,}")


async def _read_several(arguments: FileArguments, context: ToolContext) -> ToolResult:
    """Return several files, each under its name, in their order until the page is full, and the call that reads on.

    A file that cannot be read says so in its part. `limit`, and an offset from the end, are for each file.
    """
    files = await _named_files(arguments.paths or [arguments.path], context)
    if arguments.paths and arguments.path:
        if arguments.offset and arguments.path in files:  # a next page: the files before it are read
            files = dict(dropwhile(lambda item: item[0] != arguments.path, files.items()))
        else:
            files = await _named_files([arguments.path], context) | files
    is_of_each = arguments.limit is not None or (arguments.offset or 0) < 0
    names, lengths = list(files), await asyncio.to_thread(_lengths, list(files), context.workspace)
    room, results, closing = context.page_bytes, dict[str, ToolResult](), list[str]()
    for index, name in enumerate(names):
        rest = names[index + 1 :]
        one = arguments.model_copy(update={"path": name, "paths": list(dict.fromkeys(map(files.get, rest))) or None})
        if index and not is_of_each:
            one = one.model_copy(update={"offset": None, "skip": None})
        call = _next_page(one, one.limit, text_page.TextPosition(line=one.offset or 1))
        part = room - size(_HEADING.format(name)) - size(_to_come(rest, lengths)) - 3
        if is_of_each:
            one, part = one.model_copy(update={"paths": None}), part - size(call)
        is_small = part < max(_LEAST_PART, context.page_bytes // 4)
        if index and (part < 0 or (is_small and lengths[name] > part * 2 // 3)):
            closing = [f"[Next page: {call}]", _to_come(names[index:], lengths)]
            break
        result = await _read_or_reason(one, replace(context, page_bytes=max(part, _LEAST_PART)))
        results[name] = result
        room -= size(_HEADING.format(name)) + size(result.content) + 2
        if result.metadata.get("goes_on"):
            closing = [_to_come(rest, lengths)]
            break
    texts = [f"{_HEADING.format(name)}\n{result.content}" for name, result in results.items()]
    images = [image for result in results.values() for image in result.images]
    if len(images) > _MAX_PICTURES:
        texts.append(f"[only the first {_MAX_PICTURES} pictures are shown: read the others alone]")
    return ToolResult(
        content="\n".join([*texts, *closing]),
        status="succeeded" if any(result.status == "succeeded" for result in results.values()) else "failed",
        cut="none",
        images=images[:_MAX_PICTURES],
        summary="; ".join(f"{name}: {each.summary or each.status}" for name, each in results.items())[:_MAX_SUMMARY],
    )


def _to_come(names: Sequence[str], lengths: Mapping[str, int]) -> str:
    """Return a line with the files that come on the next pages, or ""."""
    named = fitting_items(names, _MAX_REST_BYTES)
    more = f" and {len(names) - len(named)} more" if len(names) > len(named) else ""
    return f"[to come: {', '.join(named)}{more}, {in_units(sum(map(lengths.__getitem__, names)))}]" if names else ""


async def _named_files(paths: Sequence[str], context: ToolContext) -> dict[str, str]:
    """Return the files that paths and patterns name, each once, with the path or pattern.

    Raises: ToolError if a pattern matches no file.
    """
    files: dict[str, str] = {}
    for path in paths:
        names = [path]
        if _WILDCARD.search(path) and not context.workspace.is_file(path):
            names = list(await files_like(path, context))
            if not names:
                raise ToolError(f"No file matches {path}.")
        files |= {name: path for name in names if name not in files}
    return files


def _lengths(names: Sequence[str], workspace: Workspace) -> dict[str, int]:
    lengths = dict.fromkeys(names, 0)
    for name in names:
        with suppress(ToolError), workspace.open_for_read(name) as stream:
            lengths[name] = stream.seek(0, 2)
    return lengths


async def _read_or_reason(arguments: FileArguments, context: ToolContext) -> ToolResult:
    try:
        return await _read(arguments, context)
    except ToolError as error:
        return ToolResult(content=str(error), status="failed")


def _read_plain(arguments: FileArguments, context: ToolContext) -> ToolResult | None:
    """Return a picture, or the lines of a plain file, or None for a file that is read as a document."""
    with context.workspace.open_for_read(arguments.path) as stream:
        size = stream.seek(0, 2)
        stream.seek(0)
        if kind := convertible_type(stream):
            description = f"{arguments.path} is a picture ({kind}, {in_units(size)})."
            return ToolResult(content=description, images=[arguments.path])
        sample = read_sample(stream)
        if arguments.view == "text" or (arguments.view is None and is_document(sample, arguments.path)):
            return None
        if arguments.view == "source" and has_signature(sample):
            return None
        if not (encoding := encoding_of(arguments.view) or detect_encoding(sample)):
            kind = text_page.media_type(arguments.path)
            return ToolResult(content=f"{arguments.path} is binary ({kind}, {in_units(size)}): no text to show.")
        stream.seek(len(encoding.bom))
        text = TextIOWrapper(stream, encoding.codec, "replace", newline="\n")
        if arguments.offset and arguments.offset < 0:
            first = text_page.line_from_end(text, -arguments.offset)
            arguments = arguments.model_copy(update={"offset": first})
            text.detach().seek(len(encoding.bom))
            text = TextIOWrapper(stream, encoding.codec, "replace", newline="\n")
        return _page(text, arguments, context.page_bytes, guess=str(encoding) if encoding.is_guess else "")


def _page(stream: TextIO, arguments: FileArguments, page_bytes: int, guess: str) -> ToolResult:
    """Return whole lines, and the call for the next page."""
    begin = text_page.TextPosition(line=arguments.offset or 1, offset=arguments.skip or 0)
    frame_bytes = size(_next_page(arguments, arguments.limit, begin)) + _FRAME_BYTES
    page = text_page.read_text_page(stream, begin, arguments.limit, max(page_bytes - frame_bytes, page_bytes // 2))
    lines = [*page.lines, *_closing(arguments, page)]
    if guess and begin.line == 1:
        lines.append(f"[read as {guess}, a guess: where words look wrong, name another charset as view]")
    if clipped.is_clipped(arguments.path):
        lines.append("[this file is not all of the output: its middle was not kept, where a line says so]")
    content, metadata = "\n".join(lines) or "(empty file)", _goes_on(arguments, page.next is not None)
    return ToolResult(content=content, cut="none", summary=_range(arguments, page), metadata=metadata)


def _goes_on(arguments: FileArguments, has_more: bool) -> dict[str, bool]:
    """Return the metadata of a file in a set of several: whether its next page comes before the other files."""
    return {"goes_on": has_more} if arguments.paths else {}


def _range(arguments: FileArguments, page: text_page.TextPage) -> str:
    """Return the lines of a page as a range, which an outline shows in place of their beginning."""
    last = page.total if page.next is None else page.next.line if page.next.offset else page.next.line - 1
    total = f"{'more than ' if page.has_more else ''}{page.total:,}"
    return f"lines {arguments.offset or 1:,} to {last:,} of {total}" if page.lines else ""


def _closing(arguments: FileArguments, page: text_page.TextPage) -> Iterator[str]:
    """Yield which lines are shown and how to read on, or that they are the last, but nothing for a complete file."""
    first = arguments.offset or 1
    if page.next is None:
        if first > 1 or arguments.skip:
            yield f"[lines {first:,} to {page.total:,} of {page.total:,}: the end of the file]"
        return
    last = page.next.line if page.next.offset else page.next.line - 1
    position = _range(arguments, page)
    if arguments.limit == len(page.lines) and not page.next.offset:
        yield f"[{position}; the next one is offset={page.next.line}]"
        return
    remaining = arguments.limit and arguments.limit - (page.next.line - first)
    within = f"; line {last} goes on" if page.next.offset else ""
    yield f"[{position}{within}. Next page: {_next_page(arguments, remaining, page.next)}]"


def _next_page(arguments: FileArguments, limit: int | None, begin: text_page.TextPosition) -> str:
    parameters = {"offset": begin.line, "skip": begin.offset or None, "limit": limit, "view": arguments.view}
    return next_call("file", action="read", path=arguments.path, paths=arguments.paths or None, **parameters)


def _list(arguments: FileArguments, context: ToolContext) -> ToolResult:
    entries, first = context.workspace.visible_entries(arguments.path), arguments.offset or 1
    if first < 0:
        first = max(1, len(entries) + first + 1)
    if first > max(len(entries), 1):
        raise ToolError(f"There is no entry {first}: {arguments.path} has {len(entries)}.")
    parameters = {"action": "list", "path": arguments.path}
    max_bytes = context.page_bytes - size(next_call("file", **parameters, offset=first)) - _FRAME_BYTES
    lines = fitting_items(map(str, entries[first - 1 :]), max_bytes)
    last = first - 1 + len(lines)
    position = f"entries {first:,} to {last:,} of {len(entries):,}"
    summary = "" if size("\n".join(lines)) < LONG_ENOUGH else position
    if last < len(entries):
        call = next_call("file", **parameters, offset=last + 1)
        lines.append(f"[{position}. Next page: {call}]")
    elif first > 1:
        lines.append(f"[{position}: the end of the list]")
    return ToolResult(content="\n".join(lines) or "(empty)", cut="none", summary=summary)


_ACTIONS: dict[str, Callable[[FileArguments, Workspace], ToolResult]] = {
    "write": lambda arguments, workspace: changes.write(arguments.path, arguments.content or "", workspace),
    "append": lambda arguments, workspace: changes.append(
        arguments.path, arguments.content or "", workspace, encoding_of(arguments.view)
    ),
    "edit": lambda arguments, workspace: changes.edit(
        arguments.path,
        arguments.old or "",
        arguments.new or "",
        workspace,
        everywhere=arguments.replace_all,
        encoding=encoding_of(arguments.view),
    ),
    "patch": lambda arguments, workspace: patch.patch(
        arguments.path, arguments.content or "", workspace, partial=arguments.partial
    ),
    "move": lambda arguments, workspace: changes.move(arguments.path, arguments.to or "", workspace),
    "delete": lambda arguments, workspace: changes.delete(arguments.path, workspace),
}
