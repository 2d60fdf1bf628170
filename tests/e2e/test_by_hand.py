"""Keys, files, phones and themes."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.conftest import Chat, call, result, script
from tests.server import Server, configured


def test_shift_enter_adds_a_line_and_escape_focuses_the_composer(chat: Chat):
    chat.start(script(result()))
    chat.words.fill("one")
    chat.words.press("Shift+Enter")
    chat.words.press_sequentially("two")
    expect(chat.words).to_have_value("one\ntwo")
    chat.page.locator("#title").focus()
    chat.page.keyboard.press("Escape")
    expect(chat.words).to_be_focused()


def test_skip_link_is_first_in_tab_order(open_page, server):
    page = open_page(server)
    page.goto("/usage/")
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to the content")).to_be_focused()


def test_attached_files_are_shown_and_removable(chat: Chat):
    chat.start(script(result("First.")))
    expect(chat.result("First.")).to_be_visible()
    notes = {"name": "notes.txt", "mimeType": "text/plain", "buffer": b"hello"}
    other = {"name": "other.txt", "mimeType": "text/plain", "buffer": b"bye"}
    chat.page.locator("#composer input[type=file]").set_input_files([notes, other])
    chat.page.get_by_role("button", name="Do not attach other.txt").click()
    chat.say(script(call("file", {"action": "read", "path": "notes.txt"}), result("Read.")))
    expect(chat.page.locator(".user_message").last).to_contain_text("notes.txt")
    expect(chat.page.locator("#files")).to_contain_text("notes.txt")
    expect(chat.page.locator("#chosen li")).to_have_count(0)
    chat.tool("file").locator("summary").first.click()
    expect(chat.tool("file")).to_contain_text("hello")


@pytest.mark.parametrize("has_tls", [True, False])
def test_copying_code_works_without_tls(chat: Chat, has_tls: bool):
    chat.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    if not has_tls:
        chat.page.add_init_script("Object.defineProperty(Navigator.prototype, 'clipboard', {value: undefined})")
    chat.start(script(result("Run\n\n~~~\nmake run\n~~~")))
    chat.page.get_by_role("button", name="Copy").click()
    expect(chat.page.get_by_role("button", name="Copied")).to_be_visible()
    chat.words.focus()
    chat.page.keyboard.press("Control+v")
    expect(chat.words).to_have_value(re.compile(r"make run\n?"))


def test_dropping_a_file_attaches_it(chat: Chat):
    chat.start(script(result()))
    transfer = chat.page.evaluate_handle(
        "() => { const data = new DataTransfer(); data.items.add(new File(['x'], 'dropped.txt')); return data; }"
    )
    chat.page.dispatch_event("#composer", "drop", {"dataTransfer": transfer})
    expect(chat.page.locator("#chosen")).to_contain_text("dropped.txt")


def test_folders_load_when_opened_and_stay_open(chat: Chat):
    chat.start("```script\n- {call: message, arguments: {type: result, text: Done.}}\n```")
    for path in ("src/app/main.py", "node_modules/left/index.js"):
        chat.server.call("POST", f"sessions/{chat.session_id}/files/{path}", "x")
    files = chat.page.locator("#files")
    for folder in ("node_modules", "left", "src", "app"):
        files.locator("summary").get_by_text(folder, exact=True).click()
    expect(files).to_contain_text("index.js")
    expect(files).to_contain_text("main.py")
    chat.server.call("POST", f"sessions/{chat.session_id}/files/new.txt", "x")
    expect(files).to_contain_text("new.txt")
    expect(files.get_by_text("index.js")).to_be_visible()
    expect(files.get_by_text("main.py")).to_be_visible()
    expect(files).not_to_contain_text("empty")


def test_dropping_a_folder_with_files_sends_the_files(chat: Chat, tmp_path: Path):
    chat.start(script(result("First.")))
    expect(chat.result("First.")).to_be_visible()
    (tmp_path / "folder").mkdir()
    (tmp_path / "notes.txt").write_text("hello")
    dropped = {
        "items": [],
        "files": [str(tmp_path / name) for name in ("folder", "notes.txt")],
        "dragOperationsMask": 1,
    }
    browser = chat.page.context.new_cdp_session(chat.page)
    for kind in ("dragEnter", "dragOver", "drop"):
        browser.send("Input.dispatchDragEvent", {"type": kind, "x": 600, "y": 300, "data": dropped})
    expect(chat.page.locator("#chosen li")).to_have_text(["notes.txt ×"])
    expect(chat.page.locator("#toasts")).to_contain_text("Folders cannot be attached.")
    chat.say(script(result("Second.")))
    expect(chat.page.locator(".user_message").last).to_contain_text("notes.txt")


def test_progress_bar_disappears_after_a_refused_upload(open_page, server):
    chat = Chat(open_page(server, may_complain=True), server).start(script(result("First.")))
    expect(chat.result("First.")).to_be_visible()
    server.call("DELETE", f"sessions/{chat.session_id}/")
    notes = {"name": "notes.txt", "mimeType": "text/plain", "buffer": b"hello"}
    chat.page.locator("#composer input[type=file]").set_input_files(notes)
    chat.say("Hello.")
    expect(chat.page.locator("#toasts")).to_contain_text("This page does not exist")
    expect(chat.page.locator("#sending")).to_be_hidden(timeout=3000)


def test_deleting_a_file_asks_for_confirmation(chat: Chat):
    chat.start(script(call("file", {"action": "write", "path": "gone.txt", "content": "x"}), result()))
    files = chat.page.locator("#files")
    expect(files).to_contain_text("gone.txt")
    files.get_by_role("link", name="Delete gone.txt").click()
    chat.page.get_by_role("dialog").get_by_role("button", name="Keep").click()
    expect(files).to_contain_text("gone.txt")
    files.get_by_role("link", name="Delete gone.txt").click()
    chat.page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    expect(files).not_to_contain_text("gone.txt")


def test_title_is_edited_in_place(chat: Chat):
    page = chat.start(script(result())).page
    expect(chat.state).to_have_text("Done")
    with page.expect_response("**/change/"):
        page.locator("#title").fill("A better name")
        page.locator("#title").blur()
    page.goto("/")
    expect(page.locator("#session-list")).to_contain_text("A better name")


def test_choosing_a_model_keeps_the_title(chat: Chat, server):
    page = chat.start(script(result())).page
    expect(chat.state).to_have_text("Done")
    server.call("PATCH", f"sessions/{chat.session_id}/", {"title": "Named elsewhere"})
    with page.expect_response("**/change/"):
        page.get_by_label("Model").select_option("default")
    session = server.call("GET", f"sessions/{chat.session_id}/")
    assert (session["title"], session["model"]) == ("Named elsewhere", "default")


def test_list_is_searched_while_typing(chat: Chat):
    page = chat.start(script(result("A rhinoceros.")) + "\nabout rhinos").page
    expect(chat.state).to_have_text("Done")
    page.goto("/sessions/")
    page.get_by_label("Search all sessions").press_sequentially("no such thing anywhere")
    expect(page.locator("#sessions")).to_contain_text("Nothing found")
    page.get_by_label("Search all sessions").fill("about rhinos")
    expect(page.locator("#sessions li")).to_have_count(1)


def test_chosen_theme_is_remembered(open_page, server):
    page = open_page(server, color_scheme="light")
    page.goto("/usage/")
    page.get_by_role("button", name="Light or dark").click()
    page.reload()
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(22, 24, 25)"


def test_page_fits_a_phone(open_page, server):
    chat = Chat(open_page(server, viewport={"width": 360, "height": 740}, has_touch=True, is_mobile=True), server)
    chat.page.get_by_label("Model").select_option("script")
    long_line = call("shell", {"command": "echo " + "x" * 400})
    chat.words.fill(script(long_line, result("| a | b |\n|---|---|\n| " + "wide " * 40 + "| x |")))
    chat.page.get_by_role("button", name="Start").click()
    expect(chat.state).to_have_text("Done")
    assert chat.page.evaluate("document.documentElement.scrollWidth") == 360
    chat.page.get_by_role("button", name="Menu").click()
    expect(chat.page.get_by_role("link", name="Settings")).to_be_visible()
    chat.page.keyboard.press("Escape")
    chat.page.get_by_role("button", name="Plan, files and usage").click()
    expect(chat.page.get_by_text("This task used")).to_be_visible()
    assert chat.page.evaluate("document.documentElement.scrollWidth") == 360


@pytest.fixture
def new_server(tmp_path: Path) -> Iterator[Server]:
    """Return a server that nobody has used."""
    running = configured(tmp_path, "{}", AGENTSITE_ADMIN_USERNAME="ada").start()
    yield running
    running.stop()


def _load(page: Page, address: str) -> dict[str, int]:
    """Return the uncompressed sizes of all files of a page."""
    page.goto(address, wait_until="networkidle")
    return _sizes(page, "decodedBodySize")


def _sizes(page: Page, kind: str) -> dict[str, int]:
    parts = f"performance.getEntries().filter(part => '{kind}' in part)"
    return dict(page.evaluate(f"{parts}.map(part => [new URL(part.name).pathname, part.{kind}])"))


def test_long_words_and_formulas_fit_a_phone(open_page, server):
    chat = Chat(open_page(server, viewport={"width": 390, "height": 800}), server)
    page, word, formula = chat.page, "w" * 300, "y+" * 200 + "z"
    write = call("file", {"action": "write", "path": f"{'f' * 200}.txt", "content": word})
    chat.start(script(write, result(f"{word} $x={formula}$\n\n$$x={formula}$$\n\n- $x={formula}$")))
    expect(chat.state).to_have_text("Done")
    page.get_by_label("Title").fill(word[:200])
    with page.expect_response("**/change/"):
        page.get_by_label("Title").press("Tab")
    place = page.url.partition("#")[0]
    for part in ("", "context/", "why/", "versions/", "delete/", "share/", f"view/{'f' * 200}.txt"):
        page.goto(place + part)
        assert page.evaluate("document.documentElement.scrollWidth") == 390, part


def test_first_load_is_small(open_page, new_server):
    """Measure without the list of sessions, which adds 280 bytes each. Files are fetched only once."""
    page = open_page(new_server, new=True)
    sizes = _load(page, "/")
    assert sum(sizes.values()) < 96_000, sizes
    assert len(sizes) <= 8, sizes
    files = {path: size for path, size in _sizes(page, "encodedBodySize").items() if path.startswith("/static/")}
    assert sum(files.values()) < 35_000, files
    page.goto("/inbox/", wait_until="networkidle")
    sent = _sizes(page, "transferSize")
    assert {path: sent[path] for path in files if path in sent} == dict.fromkeys(files.keys() & sent, 0)


def test_first_diagram_loads_a_megabyte(open_page, server, speaker):
    chat = Chat(open_page(server, new=True), server)
    finished = []
    chat.page.on("requestfinished", lambda request: finished.append(request))  # noqa: PLW0108  Playwright marks functions
    speaker.says("```mermaid\nflowchart LR\n  A --> B\n```")
    chat.start("Draw it.", model="speaker")
    speaker.goes_on()
    chat.page.locator(".diagram").scroll_into_view_if_needed()
    expect(chat.page.locator(".diagram.shown")).to_be_visible()
    sizes = {request.url: request.sizes()["responseBodySize"] for request in finished if "mermaid" in request.url}
    assert len(sizes) == 1
    assert sum(sizes.values()) < 1_000_000


def test_other_files_of_a_session_page_are_small(open_page, server):
    """Measure the page's other files. Its HTML is limited in test_page_budgets."""
    chat = Chat(open_page(server, new=True), server).start(script(result()))
    expect(chat.state).to_have_text("Done")
    address = chat.page.url.partition("#")[0]
    sizes = _load(open_page(server, new=True), address)
    assert len(sizes) <= 9, sizes
    assert sum(size for path, size in sizes.items() if path.startswith("/static/")) <= 110_500, sizes


def test_pages_work_without_javascript(open_page, server):
    page = open_page(server, java_script_enabled=False)
    page.get_by_label("Model").select_option("script")
    ask = call("message", {"type": "ask", "text": "Which?", "options": ["This"]})
    page.get_by_label("Message", exact=True).fill(script(ask, result("Well done.")))
    page.get_by_role("button", name="Start").click()
    page.wait_for_url("**/s/**")
    _reload_when(page, server, waiting_for="reply")
    page.get_by_role("button", name="This").click()
    _reload_when(page, server, state="done")
    expect(page.locator(".entry.result", has_text="Well done.")).to_be_visible()


def _reload_when(page: Page, server: Server, **fields: str) -> None:
    """Reload once the newest task is in this state. A click while the network is busy would be lost
    with the old page.
    """
    server.until_task(server.call("GET", "tasks/")["results"][0]["id"], **fields)
    page.reload(wait_until="networkidle")
