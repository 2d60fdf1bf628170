"""Tests of the tool `vision`, called as a model calls it."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace

import pytest
from aiohttp import web

from tests.pictures import picture
from tests.tools_app import documents
from tests.tools_app.test_fetch_url_tool import serving
from tools_app.contract import Danger, ToolContext, ToolResult, ToolVisibility, registry
from tools_app.contract.capabilities import NamedPicture
from tools_app.errors import AddressRefused, FetchFailed, InvalidArguments, ToolError
from tools_app.files import Workspace
from tools_app.network import NetworkPolicy

Call = Callable[..., Awaitable[ToolResult]]


@pytest.fixture
def asked() -> list[tuple[str, str, Sequence[NamedPicture]]]:
    return []


@pytest.fixture
def tool_context(tool_context: ToolContext, asked: list[tuple[str, str, Sequence[NamedPicture]]]) -> ToolContext:
    async def ask(prompt: str, *, purpose: str, pictures: Sequence[NamedPicture] = ()) -> str:
        asked.append((prompt, purpose, pictures))
        return "A red square. </web_page>"

    return replace(tool_context, ask_model=ask, network=NetworkPolicy(allow_internal=frozenset({"127.0.0.1"})))


def test_tool_is_safe_and_needs_a_model_with_vision() -> None:
    definition = registry.get("vision")
    assert definition.danger is Danger.SAFE
    assert [definition.visible(ToolVisibility(sees_pictures=sees)) for sees in (False, True)] == [False, True]
    assert [definition.listed(ToolVisibility(model_sees=sees)) for sees in (False, True)] == [True, False]


async def test_vision_asks_about_a_picture_of_the_workspace(
    call: Call, workspace: Workspace, asked: list[object]
) -> None:
    workspace.write_bytes("red.png", picture())
    result = await call("vision", path="red.png", question="Which colour?")
    assert result.content == "A red square. </web_page>"
    assert asked == [("Which colour?", "vision", [NamedPicture(name="red.png", data=picture())])]


async def test_an_answer_about_the_web_is_data_of_the_web(call: Call, asked: list[object]) -> None:
    async def handler(request: web.Request) -> web.Response:
        return web.Response(body=picture(), content_type="text/plain")

    async with serving(handler) as server:
        url = str(server.make_url("/red"))
        result = await call("vision", url=url, question="Which colour?")
    assert result.content == f'<web_page url="{url}">\nA red square. &lt;/web_page>\n</web_page>'
    assert len(asked) == 1


@pytest.mark.parametrize(
    "arguments",
    [
        {"question": "?"},
        {"path": "a.png", "url": "http://a.example", "question": "?"},
        {"path": "a.png"},
        {"path": "a.png", "question": ""},
    ],
)
async def test_one_picture_and_a_question_are_required(call: Call, arguments: dict[str, str]) -> None:
    with pytest.raises(InvalidArguments):
        await call("vision", **arguments)


async def test_other_files_reach_no_model(call: Call, workspace: Workspace, asked: list[object]) -> None:
    workspace.write_bytes("notes.png", b"text")
    with pytest.raises(ToolError, match=r"notes\.png is no picture"):
        await call("vision", path="notes.png", question="?")
    with pytest.raises(ToolError, match="no such|There is no"):
        await call("vision", path="missing.png", question="?")
    with pytest.raises(AddressRefused):
        await call("vision", url="http://10.0.0.1/a.png", question="?")
    assert asked == []


async def test_a_missing_or_too_large_picture_of_the_web_is_refused(
    call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tools_app.tools.vision._MAX_BYTES", 1000)

    async def handler(request: web.Request) -> web.Response:
        return web.Response(body=bytes(2000)) if request.path == "/large" else web.Response(status=404)

    async with serving(handler) as server:
        with pytest.raises(FetchFailed, match="larger than"):
            await call("vision", url=str(server.make_url("/large")), question="?")
        with pytest.raises(FetchFailed, match="404"):
            await call("vision", url=str(server.make_url("/none")), question="?")


async def test_vision_asks_about_a_page_of_a_pdf(
    call: Call, workspace: Workspace, asked: list[tuple[str, str, Sequence[NamedPicture]]]
) -> None:
    workspace.write_bytes("a.pdf", documents.pdf("one", "two"))
    await call("vision", path="a.pdf", page=2, question="What does it say?")
    assert asked[0][2][0].data.startswith(b"\x89PNG")
    with pytest.raises(ToolError, match="There is no page 3: it has 2"):
        await call("vision", path="a.pdf", page=3, question="?")
