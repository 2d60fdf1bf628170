"""A real browser and a real server. Pages must stay free of errors and violations of the content security policy."""

import os
import re
import shutil
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml
from playwright.sync_api import Browser, Locator, Page, expect, sync_playwright

from tests.e2e.speaker import Speaker
from tests.provider import running
from tests.server import PASSWORD, Server, configured

CONFIG = """
providers:
  - {name: scripted, protocol: scripted}
  - {name: one, protocol: scripted}
  - {name: two, protocol: scripted}
  - {name: speaker, protocol: openai_native, base_url: SPEAKER, api_key: sk-a-key}
models:
  - {name: default, providers: [{provider: scripted, model: demo}]}
  - {name: script, providers: [{provider: scripted, model: script}]}
  - {name: routed, providers: [{provider: one, model: demo}, {provider: two, model: demo}]}
  - {name: speaker, providers: [{provider: speaker, model: any}]}
users:
  - {username: bob, password: THE_PASSWORD}
  - {username: carol, password: THE_PASSWORD}
"""
WAIT = "while [ ! -e go ]; do sleep 0.05; done"  # a command that runs until a test ends it
HERE = Path(__file__).parent
FLAGS = ["--disable-dev-shm-usage", "--disable-background-networking"]
PATIENCE = 60_000  # milliseconds, only reached when something is wrong
expect.set_options(timeout=PATIENCE)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.e2e)


class Chat:
    """A session's page as a person uses it."""

    def __init__(self, page: Page, server: Server) -> None:
        self.page, self.server = page, server
        self.words = page.get_by_label("Message", exact=True)
        self.state = page.locator("#state")
        self.live = page.locator("#live [data-live=text]")
        self.entries = page.locator("#entries .entry")

    def start(self, text: str, model: str = "script") -> "Chat":
        """Start a session with `text` from the home page."""
        self.page.get_by_label("Model").select_option(model)
        self.words.fill(text)
        self.words.press("Enter")
        self.page.wait_for_url(re.compile("/s/"))
        return self

    def say(self, text: str, key: str = "Enter") -> None:
        self.words.fill(text)
        self.words.press(key)

    def end_wait(self, *others: Any) -> None:
        """End WAIT by uploading its file through the panel, after `others`."""
        go = {"name": "go", "mimeType": "text/plain", "buffer": b"x"}
        self.page.locator("#files input[type=file]").set_input_files([*others, go])

    def tool(self, name: str) -> Locator:
        return self.page.locator(".tool", has=self.page.locator("summary b", has_text=re.compile(f"^{name}$")))

    def result(self, text: str) -> Locator:
        return self.page.locator(".entry.result", has_text=text)

    @property
    def session_id(self) -> str:
        return self.page.url.split("/s/")[1].split("/")[0]

    @property
    def seqs(self) -> list[str]:
        return [str(entry.get_attribute("id")) for entry in self.entries.all()]


def script(*replies: Any) -> str:
    return f"Please.\n```script\n{yaml.safe_dump(list(replies), allow_unicode=True)}```"


def call(name: str, arguments: dict[str, Any], **timing: Any) -> dict[str, Any]:
    return {"call": name, "arguments": arguments, **timing}


def result(text: str = "Done.", **timing: Any) -> dict[str, Any]:
    return call("message", {"type": "result", "text": text}, **timing)


# --- the server and the browser ---------------------------------------------------------------------------------


@pytest.fixture(scope="package")
def _speaker() -> Iterator[Speaker]:
    with running() as provider:
        yield Speaker(provider)


@pytest.fixture
def speaker(_speaker: Speaker) -> Speaker:
    """Return the control of the model `speaker`: what it sends, and when."""
    _speaker.forget()
    return _speaker


@pytest.fixture(scope="package")
def server(tmp_path_factory: pytest.TempPathFactory, _speaker: Speaker) -> Iterator[Server]:
    config = CONFIG.replace("SPEAKER", _speaker.base_url).replace("THE_PASSWORD", PASSWORD)
    running = configured(tmp_path_factory.mktemp("e2e"), config, AGENTSITE_ADMIN_USERNAME="ada").start()
    yield running
    running.stop()


@pytest.fixture
def mortal_server(server: Server) -> Iterator[Server]:
    """Return a server that a test may kill."""
    yield server
    server.revive()


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    program = shutil.which("chromium")
    if program is None:
        pytest.skip("there is no chromium on this machine: install the distribution's package “chromium”")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, chromium_sandbox=os.geteuid() != 0, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture(scope="package")
def login(browser: Browser) -> Callable[[Server], Any]:
    """Return a function that returns login cookies. They are cached by server, as checking a password is slow."""

    @cache
    def signed_in(server: Server) -> Any:
        context = browser.new_context(base_url=server.base_url)
        sign_in(context.new_page())
        state = context.storage_state()
        context.close()
        return state

    return signed_in


class SharedContext:
    """A browser context that tests share: a new one takes a second of CPU."""

    def __init__(self, browser: Browser, server: Server, state: Any) -> None:
        self.server, self.cookies = server, state["cookies"]
        self.context = browser.new_context(base_url=server.base_url)
        self._blank = self.context.new_page()  # keeps the browser's processes alive

    def page(self) -> Page:
        self.context.add_cookies(self.cookies)
        return self.context.new_page()

    def clear(self) -> None:
        """Close the pages, and delete what they stored."""
        for page in self.context.pages:
            if page is not self._blank:
                page.close()
        forget = {"origin": self.server.base_url, "storageTypes": "all"}
        self.context.new_cdp_session(self._blank).send("Storage.clearDataForOrigin", forget)
        self.context.clear_cookies()


@pytest.fixture(scope="package")
def shared_context(browser: Browser, login: Callable[[Server], Any]) -> Callable[[Server], SharedContext]:
    return cache(lambda server: SharedContext(browser, server, login(server)))


@pytest.fixture
def open_page(
    browser: Browser, login: Callable[[Server], Any], shared_context: Callable[[Server], SharedContext]
) -> Iterator[Callable[..., Page]]:
    """Return a function that opens a page signed in on a server. Pages must have no errors when the test ends.

    The first page uses the shared context. Set `new` for an empty cache.
    """
    closing: list[Callable[[], None]] = []
    complaints: list[str] = []

    def own_page(server: Server, signed_in: bool = True, new: bool = True, **options: Any) -> Page:
        state = login(server) if signed_in else None
        context = browser.new_context(base_url=server.base_url, storage_state=state, **options)
        closing.append(context.close)
        return context.new_page()

    def open_(server: Server, *, may_complain: bool = False, **options: Any) -> Page:
        if closing or options or may_complain:
            page = own_page(server, **options)
        else:
            closing.append(shared_context(server).clear)
            page = shared_context(server).page()
        page.set_default_timeout(PATIENCE)
        if not may_complain:
            page.on("pageerror", lambda error: complaints.append(str(error)))
            page.on("console", lambda said: said.type in ("error", "warning") and complaints.append(said.text))
        page.goto("/")
        return page

    yield open_
    for close in closing:
        close()
    assert complaints == []


def sign_in(page: Page, name: str = "ada") -> None:
    page.goto("/accounts/login/")
    page.get_by_label("Username").fill(name)
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url(lambda address: "/accounts/" not in address)


@pytest.fixture
def chat(open_page: Callable[..., Page], server: Server) -> Chat:
    return Chat(open_page(server), server)
