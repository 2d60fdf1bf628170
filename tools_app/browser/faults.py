"""What Playwright reports, in sentences for a model."""

import re

from playwright.async_api import Error, TimeoutError

from tools_app.errors import FetchFailed, PageLost, ToolError


def not_loaded(error: Error, seconds: float) -> FetchFailed:
    if isinstance(error, TimeoutError):
        return FetchFailed(f"The page did not load within {seconds:.0f} seconds. Try again, or another source.")
    if "Download is starting" in error.message or "ERR_ABORTED" in error.message:
        return FetchFailed("This address is a download, not a page. The tool fetch_url reads documents.")
    return FetchFailed(f"The page cannot be loaded: {_first_line(error)}")


def not_done(error: Error) -> ToolError:
    if "crashed" in error.message:
        return PageLost("The page crashed; it may have needed too much memory. It is closed.")
    if isinstance(error, TimeoutError):
        return ToolError("That was not possible within some seconds: the element may be hidden, covered or disabled.")
    return ToolError(f"The browser could not do this: {_first_line(error)}")


def _first_line(error: Error) -> str:
    line = next(iter(error.message.splitlines()), "it gives no reason")
    return re.sub(r"^\w+\.\w+: ", "", line)[:300]
