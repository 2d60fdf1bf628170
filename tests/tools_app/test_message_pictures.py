"""Pictures in the text of `message` are checked like attachments."""

from collections.abc import Awaitable, Callable

import pytest

from tests.pictures import picture
from tools_app.contract import ToolResult
from tools_app.files import Workspace

Call = Callable[..., Awaitable[ToolResult]]


@pytest.mark.parametrize("text", ["See ![the chart](chart.png)", "![](out/my%20chart.png)", '![a](<chart.png> "b")'])
async def test_message_with_a_missing_picture_is_not_sent(call: Call, text: str) -> None:
    result = await call("message", type="info", text=text)
    assert result.status == "failed"
    assert "chart.png" in result.content


@pytest.mark.parametrize(
    "text",
    [
        "![a](./out/my%20chart.png)",
        "![a](https://a.example/b.png)",
        "Write `![a](no.png)`",
        "```\n![a](no.png)\n```",
        "[a](no.png)",
    ],
)
async def test_message_without_a_missing_picture_is_sent(call: Call, workspace: Workspace, text: str) -> None:
    workspace.write_bytes("out/my chart.png", picture(8, 8))
    assert (await call("message", type="info", text=text)).status == "succeeded"
