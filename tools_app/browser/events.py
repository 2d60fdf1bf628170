"""Events on the pages of a browser context that a view of the page does not show by itself."""

from collections import Counter

from playwright.async_api import (
    BrowserContext,
    ConsoleMessage,
    Dialog,
    Download,
    Error,
    Page,
    Request,
    Response,
    WebError,
)

_NOTE, _CONSOLE, _REQUEST = "Note", "Console error", "Failed request"
_MOST = {_NOTE: 10, _CONSOLE: 5, _REQUEST: 5}  # lines in one view
_MAX_STATUSES = 20
_MAX_EXCERPT = 300  # characters of one text of the page
_LOAD_FAILURE = "Failed to load resource"  # Chromium logs each failed request to the console, too
_EXPECTED = ("net::ERR_ABORTED", "net::ERR_BLOCKED_BY_CLIENT")  # ended by the page; refused, of which there is a note


class PageEvents:
    """Lines about events on the pages, collected until they are read.

    Nothing waits for a person: dialogs are dismissed, and leaving a page is always allowed.
    """

    def __init__(self, context: BrowserContext) -> None:
        self._lines: dict[str, Counter[str]] = {kind: Counter() for kind in _MOST}
        self._omitted: Counter[str] = Counter()
        self._statuses: dict[str, int] = {}  # HTTP statuses of the newest documents by address
        context.on("dialog", self._on_dialog)
        context.on("page", self._on_page)
        context.on("console", self._on_console)
        context.on("weberror", self._on_error)
        context.on("requestfailed", self._on_failed_request)
        context.on("response", self._on_response)

    def take(self) -> list[str]:
        """Return the lines since the last call, a few of each kind."""
        lines = []
        for kind, counts in self._lines.items():
            lines += [f"{kind}: {text}{f' ({count} times)' * (count > 1)}" for text, count in counts.items()]
            if omitted := self._omitted[kind]:
                lines.append(f"{kind}: {omitted} more")
            counts.clear()
        self._omitted.clear()
        return lines

    def note(self, text: str) -> None:
        self._add(_NOTE, text)

    @property
    def newest_status(self) -> int:
        """The HTTP status of the newest document."""
        return next(reversed(self._statuses.values()), 200)

    def status_of(self, url: str) -> int:
        """Return the HTTP status of the document at `url`, or 200 if it has none."""
        return self._statuses.get(_without_fragment(url), 200)

    def _add(self, kind: str, text: str) -> None:
        counts = self._lines[kind]
        if text in counts or len(counts) < _MOST[kind]:
            counts[text] += 1
        else:
            self._omitted[kind] += 1

    def _on_page(self, page: Page) -> None:
        page.on("download", self._on_download)
        page.on("crash", lambda _: self.note("The page crashed; it may have needed too much memory."))

    async def _on_dialog(self, dialog: Dialog) -> None:
        if dialog.type == "beforeunload":  # dismissing it would block navigation forever
            await dialog.accept()
            return
        self.note(f"A dialog ({dialog.type}) was dismissed. It said: {dialog.message[:_MAX_EXCERPT]!r}")
        await dialog.dismiss()

    def _on_download(self, download: Download) -> None:
        name, url = download.suggested_filename[:_MAX_EXCERPT], download.url[:_MAX_EXCERPT]
        self.note(f"A download was not saved: {name!r} from {url}. The tool fetch_url reads documents.")

    def _on_console(self, message: ConsoleMessage) -> None:
        if message.type == "error" and not message.text.startswith(_LOAD_FAILURE):
            self._add(_CONSOLE, _with_place(message.text, message.location["url"], message.location["lineNumber"] + 1))

    def _on_error(self, event: WebError) -> None:
        place = event.location
        self._add(_CONSOLE, _with_place(f"{event.error.name}: {event.error.message}", place["url"], place["line"] + 1))

    def _on_failed_request(self, request: Request) -> None:
        failure = request.failure or "it gives no reason"
        if not request.is_navigation_request() and failure not in _EXPECTED:
            self._add(_REQUEST, f"{request.method} {request.url[:_MAX_EXCERPT]}: {failure}")

    def _on_response(self, response: Response) -> None:
        request = response.request
        if request.is_navigation_request() and not _is_in_frame(request):
            url = _without_fragment(response.url)
            self._statuses.pop(url, None)  # the newest is last
            self._statuses[url] = response.status
            if len(self._statuses) > _MAX_STATUSES:
                del self._statuses[next(iter(self._statuses))]
        elif response.status >= 400:
            self._add(_REQUEST, f"{request.method} {request.url[:_MAX_EXCERPT]}: HTTP status {response.status}")


def _is_in_frame(request: Request) -> bool:
    try:
        return request.frame.parent_frame is not None
    except Error:  # the request of a new window comes before its frame
        return False


def _without_fragment(url: str) -> str:
    return url.partition("#")[0]


def _with_place(text: str, url: str, line: int) -> str:
    """Return the beginning of a message on one line, with the file and line of the script."""
    place = f" ({url.rpartition('/')[2][:80]}:{line})" if url else ""
    return f"{' '.join(text[:_MAX_EXCERPT].split())}{place}"
