"""The tool `browser`, which views web pages and acts on them as a person does."""

import asyncio
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field, model_validator

from tools_app.browser.program import chromium_path
from tools_app.contract import (
    Arguments,
    Danger,
    Judgement,
    Synonyms,
    Target,
    ToolContext,
    ToolResult,
    tool,
)
from tools_app.errors import PageLost, ToolError
from tools_app.files import Workspace
from tools_app.network import check_url
from tools_app.shell.secrets import with_values

if TYPE_CHECKING:
    from tools_app.browser.page import OpenPage
    from tools_app.browser.pages import BrowserPages

_CHANGING_ACTIONS = ("click", "input")
_REQUIRED_ARGUMENTS = {"visit": "url", "click": "ref", "input": "ref"}
_PLACEHOLDER_START = "[secret:"
_SCREENSHOT_FOLDER = "screenshots"
_MAX_SCREENSHOTS = 1000


class FieldText(Arguments):
    ref: str = Field(description="Its reference.")
    text: str = Field(max_length=20_000, description="Its text.")


class BrowserArguments(Arguments):
    action: Literal["visit", "view", "click", "input", "scroll", "screenshot", "close"] = Field(
        description="visit: open a page. view: see it again. click: an element. input: fill in fields, choose options. "
        "scroll: load what is below. screenshot: a picture alone. close: when done."
    )
    url: str | None = Field(None, max_length=8_000, description="For visit: the whole address.")
    ref: str | None = Field(None, description="The element's reference, like e12.")
    text: str | None = Field(None, max_length=20_000, description="For input: the text, or the option's words.")
    fields: list[FieldText] | None = Field(None, description="For input: several fields, instead of ref and text.")
    submit: bool = Field(False, description="For input: press Enter afterwards.")
    screenshot: bool = Field(False, description="Add a picture to the view.")
    full_page: bool = Field(False, description="Picture of the whole page.")
    width: int | None = Field(None, ge=1, le=2_560, description="Of the window; a phone has 390.")
    direction: Literal["up", "down"] = Field("down", description="For scroll without ref.")

    @model_validator(mode="after")
    def _belong_together(self) -> "BrowserArguments":
        needed = _REQUIRED_ARGUMENTS.get(self.action)
        if needed and not getattr(self, needed) and not self.fields:
            raise ValueError(f"{needed} is required for {self.action}")
        if self.fields and (self.action != "input" or self.ref or self.text):
            raise ValueError("fields belong to input, and replace ref and text")
        if (self.action == "input") != (self.text is not None or bool(self.fields)):
            raise ValueError("text is required for input, and belongs to no other action")
        if self.url and self.action != "visit":
            raise ValueError("url belongs to visit")
        return self

    @property
    def texts(self) -> dict[str, str]:
        """The texts of an input by the references of their fields."""
        return {field.ref: field.text for field in self.fields or ()} or {self.ref or "": self.text or ""}


def _fitted(values: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of an input, given by reference or in the words of Playwright's server, as a list of ours."""
    fields = values.get("fields")
    if isinstance(fields, dict):
        fields = [{"ref": ref, "text": text} for ref, text in fields.items()]
    if not isinstance(fields, list) or not all(isinstance(field, dict) for field in fields):
        return values
    texts = [{"text" if name == "value" else name: value for name, value in field.items()} for field in fields]
    return {
        **values,
        "fields": [{name: field[name] for name in field if name in FieldText.model_fields} for field in texts],
    }


def judge(arguments: BrowserArguments, workspace: Workspace) -> Judgement:
    if any(_PLACEHOLDER_START in text for text in arguments.texts.values()):
        return Judgement(danger=Danger.DANGEROUS, rule="gives a secret to a web page")
    if arguments.action in _CHANGING_ACTIONS:
        return Judgement(danger=Danger.MODERATE, rule="acts on a web page")
    return Judgement(danger=Danger.SAFE)


@tool(
    name="browser",
    description="""A web browser, to act on pages and to read those that fetch_url cannot. In a view, [ref=e12] names
    an element until the next one.""",
    arguments=BrowserArguments,
    danger=Danger.SAFE,
    judge=judge,
    target=Target.BROWSER,
    compact_template="browser {action}[ {url}][ {ref}][: {text}][: {fields}]",
    synonyms=Synonyms(
        arguments={
            **dict.fromkeys(("link", "uri", "address", "href"), "url"),
            **dict.fromkeys(("element", "elementref", "target", "index", "elementid"), "ref"),
            **dict.fromkeys(("value", "input", "content"), "text"),
            **dict.fromkeys(("command", "type", "operation"), "action"),
        },
        values={
            "action": {
                **dict.fromkeys(("navigate", "goto", "open", "browse", "load"), "visit"),
                **dict.fromkeys(("type", "fill", "enter", "typetext"), "input"),
                **dict.fromkeys(("snapshot", "read", "look", "getpage"), "view"),
            }
        },
        fitted=_fitted,
    ),
    activity={
        "visit": "visited {url}|visited # pages",
        "view": "looked at the page",
        "click": "clicked",
        "input": "filled in a field",
        "scroll": "scrolled",
        "screenshot": "took a screenshot",
        "close": "closed the page",
    },
    loop_exempt=True,
    takes_secrets=True,
    visible=lambda visibility: bool(chromium_path()),
)
async def browser(arguments: BrowserArguments, context: ToolContext) -> ToolResult:
    pages: BrowserPages = (
        await asyncio.to_thread(import_module, "tools_app.browser.pages")
    ).pages  # 0.3 s at the first import
    if arguments.action == "close":
        await pages.close(context.session)
        return ToolResult(content="The page is closed.")
    if arguments.action == "visit":
        return await _visit(arguments, pages, context)
    page = pages.page_of(context.session)
    pages.cancel_timer(context.session)
    context.so_far(lambda: f"[the page was at {page.url}: view it to see what came of it]")
    try:
        page.begin_action(context.network)
        return await _act(arguments, page, context)
    except PageLost:
        pages.abandon(context.session, close=True)
        raise
    except asyncio.CancelledError:
        pages.abandon(context.session, close=False)
        raise
    finally:
        pages.restart_timer(context.session)


async def _visit(arguments: BrowserArguments, pages: "BrowserPages", context: ToolContext) -> ToolResult:
    """Open a page. A new page that fails, or is interrupted by a person, is closed again."""
    url = arguments.url or ""
    check_url(url, context.network)  # before a browser is started
    was_open = pages.has_page(context.session)
    page = await pages.open(context.session, context.network, context.started)
    pages.cancel_timer(context.session)
    context.so_far(lambda: f"[{url} was being loaded; the page had got to {page.url}]")
    try:
        page.begin_action(context.network)
        return await _act(arguments, page, context)
    except PageLost:
        pages.abandon(context.session, close=True)
        raise
    except BaseException as error:
        if not was_open or isinstance(error, asyncio.CancelledError):  # an earlier page loads nothing any more
            pages.abandon(context.session, close=not was_open)
        raise
    finally:
        pages.restart_timer(context.session)


async def _act(arguments: BrowserArguments, page: "OpenPage", context: ToolContext) -> ToolResult:
    ref = arguments.ref or ""
    if arguments.width:
        await page.resize(arguments.width)
    if arguments.action == "screenshot":
        paths, sentence = await _take_pictures(page, ref, context.workspace, full_page=arguments.full_page)
        return ToolResult(content=sentence, images=paths, metadata={"url": page.url})
    if arguments.action == "visit":
        await page.visit(arguments.url or "")
    elif arguments.action == "click":
        await page.click(ref)
    elif arguments.action == "input":
        texts = {ref: with_values(text, context.secrets) for ref, text in arguments.texts.items()}
        await page.input(texts, submit=arguments.submit)
    elif arguments.action == "scroll":
        await page.scroll(ref, arguments.direction)
    paths, notes = list[str](), list[str]()
    if arguments.screenshot or arguments.full_page:
        try:
            paths, sentence = await _take_pictures(page, "", context.workspace, full_page=arguments.full_page)
        except PageLost:
            raise
        except ToolError as error:  # the view is there all the same
            sentence = f"There is no picture: {error}"
        notes.append(f"[{sentence}]")
    return ToolResult(content=await page.view(), images=paths, notes=notes, metadata={"url": page.url})


async def _take_pictures(page: "OpenPage", ref: str, workspace: Workspace, *, full_page: bool) -> tuple[list[str], str]:
    """Store pictures of an element, of the screen or of the page. Return their paths, and a sentence about them."""
    if ref or not full_page:
        pictures, missing = [await page.screenshot(ref)], 0
    else:
        pictures, missing = await page.whole_page()
    paths = [await asyncio.to_thread(_store_screenshot, picture, workspace) for picture in pictures]
    verb = "shows" if len(paths) == 1 else "show"
    rest = f", except its lowest {missing} pixels" if missing else ""
    return paths, f"{', '.join(paths)} {verb} {page.url}{rest}."


def _store_screenshot(picture: bytes, workspace: Workspace) -> str:
    paths = (f"{_SCREENSHOT_FOLDER}/{number}.png" for number in range(1, _MAX_SCREENSHOTS))
    path = next((path for path in paths if not workspace.is_file(path)), f"{_SCREENSHOT_FOLDER}/1.png")
    workspace.write_bytes(path, picture)
    return path
