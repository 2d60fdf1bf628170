"""The tool `vision`, which asks a model with vision about a picture."""

import asyncio
from io import BytesIO

from pydantic import Field, model_validator

from tools_app.contract import Arguments, Danger, Target, ToolContext, ToolResult, tool
from tools_app.contract.capabilities import NamedPicture
from tools_app.documents.formats import is_pdf
from tools_app.documents.reader import page_picture
from tools_app.errors import FetchFailed, ToolError
from tools_app.files import convertible_type
from tools_app.network.fetch import fetch
from tools_app.web.untrusted import enclose

_MAX_BYTES = 20 * 1000**2
_TIMEOUT_S = 30
_HEADERS = {"Accept": "image/png,image/jpeg,image/webp,image/gif,application/pdf"}


class VisionArguments(Arguments):
    path: str | None = Field(None, min_length=1, description="A picture or PDF of the workspace.")
    url: str | None = Field(None, min_length=1, max_length=8_000, description="Or the address of one.")
    page: int | None = Field(None, ge=1, description="Of a PDF: which page.")
    question: str = Field(
        min_length=1,
        max_length=4_000,
        description="What you want to know; that model knows nothing of this conversation.",
    )

    @model_validator(mode="after")
    def _one_picture(self) -> "VisionArguments":
        if bool(self.path) == bool(self.url):
            raise ValueError("either path or url is required")
        return self


@tool(
    name="vision",
    description="""Asks a model that can see about a picture (PNG, JPEG, WebP, GIF) or page of a PDF. It may be wrong in
    details.""",
    arguments=VisionArguments,
    danger=Danger.SAFE,
    target=Target.NETWORK,
    compact_template="vision {path}{url}[ page {page}]: {question}",
    activity={"": "looked at {path}{url}|looked at # pictures"},
    visible=lambda visibility: visibility.sees_pictures,
    listed=lambda visibility: not visibility.model_sees,
)
async def vision(arguments: VisionArguments, context: ToolContext) -> ToolResult:
    name = arguments.path or arguments.url or ""
    if arguments.url:
        fetched = await fetch(name, context.network, max_bytes=_MAX_BYTES, timeout_s=_TIMEOUT_S, headers=_HEADERS)
        if fetched.status != 200:
            raise FetchFailed(f"{fetched.url} answered with HTTP status {fetched.status}.")
        if fetched.truncated:
            raise FetchFailed(f"{fetched.url} is larger than {_MAX_BYTES // 1000**2} MB.")
        data = fetched.body
    else:
        data = await asyncio.to_thread(context.workspace.read_bytes, name, _MAX_BYTES)
    if is_pdf(data):
        data = await page_picture(data, name, arguments.page or 1)
    elif not convertible_type(BytesIO(data)):
        raise ToolError(f"{name} is no picture of a usual format, and no PDF.")
    picture = NamedPicture(name=name, data=data)
    answer = await context.ask_model(arguments.question, purpose="vision", pictures=[picture])
    return ToolResult(content=enclose(name, answer) if arguments.url else answer)
