"""Runs the extraction in a child process: it computes for up to 15 s on 2 MB of hostile HTML, in C code."""

from tools_app.child_process.parent import NoAnswer, answer_of
from tools_app.errors import FetchFailed


async def extracted(html: str, url: str) -> dict[str, str]:
    """The "title" and the "text" of a page, as Markdown; `url` makes its links whole. Raises FetchFailed."""
    try:
        page: dict[str, str] = await answer_of("tools_app.web.extraction", {"url": url}, html.encode(errors="replace"))
        return page
    except NoAnswer as error:
        raise FetchFailed(f"The page at {url} is too large or too intricate to be read.") from error
