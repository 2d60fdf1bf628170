"""The tool `generate`, which makes a picture, an audio file or a long document."""

import asyncio
from io import BytesIO
from pathlib import PurePosixPath
from typing import Any, Literal

from pydantic import Field

from tools_app.contract import Arguments, Danger, Target, ToolContext, ToolResult, ToolVisibility, tool
from tools_app.documents import long_document
from tools_app.errors import ModelFailed, ToolError
from tools_app.files import in_units, picture_type

_SUFFIXES = {
    "image": (".png", ".jpg", ".jpeg", ".webp", ".gif"),
    "audio": (".mp3",),
    "document": (".md", ".txt"),
}
_KINDS = {
    "image": "a picture of what the prompt describes",
    "audio": "the prompt, spoken",
    "document": "a long text in Markdown",
}
_MAX_SPOKEN = 4_000  # characters
_MP3 = (b"ID3", b"\xff\xfb", b"\xff\xf3", b"\xff\xf2")


class GenerateArguments(Arguments):
    kind: Literal["image", "audio", "document"] = Field(
        description=" ".join(f"{kind}: {description}." for kind, description in _KINDS.items())
    )
    prompt: str = Field(
        min_length=1,
        max_length=20_000,
        description="What to make; that model knows nothing of this conversation.",
    )
    path: str = Field(min_length=1, description="The file, such as report.md.")


def with_possible_kinds(schema: dict[str, Any], visibility: ToolVisibility) -> dict[str, Any]:
    """Return the schema with the kinds that the person's models can make. All models can write documents."""
    kinds = [*(["image"] * visibility.makes_images), *(["audio"] * visibility.makes_audio), "document"]
    description = " ".join(f"{kind}: {_KINDS[kind]}." for kind in kinds)
    kind_schema = schema["properties"]["kind"] | {"enum": kinds, "description": description}
    return schema | {"properties": schema["properties"] | {"kind": kind_schema}}


@tool(
    name="generate",
    description="Has a model make a file.",
    arguments=GenerateArguments,
    danger=Danger.MODERATE,
    target=Target.ENGINE,
    compact_template="generate {kind} {path}: {prompt}",
    activity={"": "made {path}|made # files"},
    extended=with_possible_kinds,
)
async def generate(arguments: GenerateArguments, context: ToolContext) -> ToolResult:
    suffix = PurePosixPath(arguments.path).suffix.lower()
    if suffix not in _SUFFIXES[arguments.kind]:
        article = "a" if arguments.kind == "document" else "an"
        suffixes = " or ".join(_SUFFIXES[arguments.kind])
        raise ToolError(f"The path of {article} {arguments.kind} ends in {suffixes}.")
    if arguments.kind == "document":
        return await _document(arguments, context)
    if await asyncio.to_thread(context.workspace.is_file, arguments.path):
        raise ToolError(f"{arguments.path} exists already. Delete it first, or use another name.")
    return await (_image if arguments.kind == "image" else _audio)(arguments, context)


async def _document(arguments: GenerateArguments, context: ToolContext) -> ToolResult:
    previous_count, count = await long_document.write(
        arguments.prompt, arguments.path, workspace=context.workspace, ask=context.ask_model, report=context.report
    )
    remark = f" ({previous_count} were there already)" if previous_count else ""
    return ToolResult(
        content=f"{arguments.path} is written: {count} sections{remark}. Read it before you hand it over."
    )


async def _image(arguments: GenerateArguments, context: ToolContext) -> ToolResult:
    data = await context.make_media(arguments.prompt, kind="image")
    kind = picture_type(BytesIO(data))
    if not kind:
        raise ModelFailed("The model's answer is not a picture.")
    await asyncio.to_thread(context.workspace.write_bytes, arguments.path, data)
    return ToolResult(content=f"Made {arguments.path} ({kind}, {in_units(len(data))}).", images=[arguments.path])


async def _audio(arguments: GenerateArguments, context: ToolContext) -> ToolResult:
    if len(arguments.prompt) > _MAX_SPOKEN:
        raise ToolError(f"At most {_MAX_SPOKEN} characters can be spoken in one file. Make several files.")
    data = await context.make_media(arguments.prompt, kind="audio")
    if not data.startswith(_MP3):
        raise ModelFailed("The model's answer is not an MP3 file.")
    await asyncio.to_thread(context.workspace.write_bytes, arguments.path, data)
    return ToolResult(content=f"Made {arguments.path} ({in_units(len(data))}).")
