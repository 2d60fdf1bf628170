"""Background reading of library files, page by page. Another process continues what a killed one has begun."""

import logging
import re
from collections.abc import Iterator, Sequence
from datetime import timedelta

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from tasks_app.models import LibraryFile, LibraryPassage
from tasks_app.record import storable
from tasks_app.runtime import event_loop, process
from tasks_app.text.retrieval import terms_of
from tools_app.documents import (
    NO_TEXT,
    DocumentExcerpt,
    PartExcerpt,
    UnreadableDocument,
    has_signature,
    read_document,
    tidy,
)
from tools_app.files import detect_encoding

logger = logging.getLogger(__name__)
HOLD = timedelta(seconds=150)  # longer than one round of reading can take
MOST_TRIES = 3
ROOM = 200_000  # bytes of text in a round; progress is stored after each
PASSAGE = 1_000  # characters
_SENTENCE_END = re.compile(r"[.!?…](?=\s)|[。！？]|\n(?=\n)")
MOST_PASSAGES = 20_000  # in a file
_PART = 4_000  # characters, in a text without pages
State = LibraryFile.State


def read_due() -> None:
    while (file := _claim()) is not None:
        try:
            _read(file)
        except (UnreadableDocument, OSError) as error:
            logger.info("could not read library file %s: %s", file.pk, error)
            _end(file, State.FAILED, str(error) if isinstance(error, UnreadableDocument) else "The file is gone.")


def _claim() -> LibraryFile | None:
    """Claim a file that no process reads. A file whose readers died several times is given up."""
    now = timezone.now()
    for file in LibraryFile.objects.unread().order_by("pk")[:20]:
        if file.held_by and (file.held_until or now) > now and not process.is_dead(file.held_by):
            continue
        unchanged = LibraryFile.objects.filter(pk=file.pk, tries=file.tries, held_by=file.held_by)
        claim = {"held_by": process.name(), "held_until": now + HOLD, "tries": file.tries + 1, "state": State.READING}
        if not unchanged.update(**claim):
            continue
        file.refresh_from_db()
        if file.tries <= MOST_TRIES:
            return file
        _end(file, State.FAILED, "The server stopped several times while it read this file, so it was given up.")
    return None


def _end(file: LibraryFile, state: str, problem: str = "") -> None:
    if _claimed_row(file).update(state=state, problem=problem, held_by="", held_until=None):
        file.project.publish_change()


def _claimed_row(file: LibraryFile) -> QuerySet[LibraryFile]:
    """Return the file's row as a queryset, empty if the file was deleted or another process took it over."""
    return LibraryFile.objects.filter(pk=file.pk, tries=file.tries, held_by=process.name())


def _read(file: LibraryFile) -> None:
    """Read the file from its last stored page on.

    Raises: UnreadableDocument, OSError.
    """
    data = file.read()
    LibraryPassage.objects.filter(file=file, page__gt=file.pages_read).delete()
    part, line, passage_count = file.pages_read + 1, 1, file.passages.count()
    while True:
        document = _document(data, file.name, part, line)
        last = document.parts[-1] if document.parts else None
        is_complete = last is None or last.whole
        pages_read = document.count if last is None else last.number - (not last.whole)
        passages = [passage for part_read in document.parts for passage in _passages(file, part_read)]
        if not _store(file, passages, pages_read, document):
            return  # deleted, or another process took it over
        passage_count += len(passages)
        if (is_complete and pages_read >= document.count) or passage_count >= MOST_PASSAGES:
            break
        part, line = (last.number, last.line + len(last.lines)) if last and not last.whole else (pages_read + 1, 1)
    problem = (
        ""
        if pages_read >= document.count
        else f"Only its first {pages_read:,} {file.unit}s can be found: it is too long."
    )
    _end(file, State.READY, problem) if passage_count else _end(
        file, State.FAILED, "It has no text that could be searched."
    )


def _document(data: bytes, name: str, part: int, line: int) -> DocumentExcerpt:
    try:
        return event_loop.submit(read_document(data, name, part=part, line=line, room=ROOM)).result()
    except UnreadableDocument:
        text = _plain_text(data)
        if text is None:
            raise
    parts = [
        PartExcerpt(number=n, title=f"part {n}", line=1, lines=lines, whole=True)
        for n, lines in enumerate(_parts(text), 1)
    ]
    return DocumentExcerpt(kind="text", unit="part", title="", count=len(parts), parts=parts[part - 1 :])


def _plain_text(data: bytes) -> str | None:
    encoding = None if has_signature(data) else detect_encoding(data)
    return encoding.readable(data) if encoding and (encoding.codec != "utf-8" or b"\0" not in data) else None


def _parts(text: str) -> Iterator[Sequence[str]]:
    """Yield the lines of a text without pages, in parts of about `_PART` characters."""
    lines: list[str] = []
    for line in tidy(text.splitlines()):
        if lines and sum(map(len, lines)) + len(line) > _PART:
            yield lines
            lines = []
        lines.append(line)
    if lines:
        yield lines


def _passages(file: LibraryFile, part: PartExcerpt) -> Iterator[LibraryPassage]:
    for text in (storable(text).strip() for text in _cut_at_sentences("\n".join(part.lines))):
        if text and text != NO_TEXT:
            terms = " ".join(dict.fromkeys(terms_of(f"{file.name} {text}")))
            yield LibraryPassage(file=file, page=part.number, text=text, terms=terms)


def _cut_at_sentences(text: str) -> Iterator[str]:
    """Yield parts of up to PASSAGE characters that end with a sentence, or else with a line or a word."""
    begin = 0
    while len(text) - begin > PASSAGE:
        window = text[begin : begin + PASSAGE]
        ends = [match.end() for match in _SENTENCE_END.finditer(window)]
        ends = [end for end in [*ends[-1:], window.rfind("\n") + 1, window.rfind(" ") + 1] if end > PASSAGE // 3]
        end = begin + (ends[0] if ends else PASSAGE)
        yield text[begin:end]
        begin = end
    yield text[begin:]


def _store(file: LibraryFile, passages: Sequence[LibraryPassage], pages_read: int, document: DocumentExcerpt) -> bool:
    """Store passages and progress. Return False if the file was deleted or another process took it over."""
    fields = {
        "pages_read": pages_read,
        "count": document.count,
        "unit": document.unit,
        "held_until": timezone.now() + HOLD,
    }
    with transaction.atomic():
        if not _claimed_row(file).update(**fields):
            return False
        LibraryPassage.objects.bulk_create(passages, batch_size=200)
    file.unit = document.unit
    return True
