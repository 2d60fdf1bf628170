"""Events on a page that its view does not show."""

from playwright.async_api import BrowserContext, Dialog, Download, Page

_MOST = 10
_MOST_WORDS = 300


class PageEvents:
    """Collects notes until they are taken. Nothing waits for a person: dialogs are dismissed, pages may be left."""

    def __init__(self, context: BrowserContext) -> None:
        self._notes: list[str] = []
        context.on("dialog", self._dialog)
        context.on("page", self._page)

    def take(self) -> list[str]:
        notes, self._notes = self._notes, []
        return notes

    def note(self, words: str) -> None:
        if words not in self._notes and len(self._notes) < _MOST:
            self._notes.append(words)

    def _page(self, page: Page) -> None:
        page.on("download", self._download)
        page.on("crash", lambda _: self.note("The page crashed; it may have needed too much memory."))

    async def _dialog(self, dialog: Dialog) -> None:
        if dialog.type == "beforeunload":  # dismissed, it would keep the browser on its page for ever
            await dialog.accept()
            return
        self.note(f"A dialog ({dialog.type}) was dismissed. It said: {dialog.message[:_MOST_WORDS]!r}")
        await dialog.dismiss()

    def _download(self, download: Download) -> None:
        name, url = download.suggested_filename[:_MOST_WORDS], download.url[:_MOST_WORDS]
        self.note(f"A download was not saved: {name!r} from {url}. The tool fetch_url reads documents.")
