"""Reads a document in a child process, with limits."""

from tools_app.child_process.parent import ChildLimits, NoAnswer, answer_of
from tools_app.errors import FetchFailed

_LIMITS = ChildLimits(wall_s=60, cpu_s=30)


async def read_document(body: bytes, name: str) -> tuple[str, str]:
    """Title and text, with a mark before each page, slide or sheet. Raises FetchFailed; `name` is for its sentence."""
    try:
        answer = await answer_of("tools_app.documents.child", {}, body, limits=_LIMITS)
    except NoAnswer as error:
        raise FetchFailed(f"The document {name} is too large or too intricate to be read.") from error
    if "error" in answer:
        raise FetchFailed(f"The document {name} cannot be read. {answer['error']}")
    return answer["title"], answer["text"]
