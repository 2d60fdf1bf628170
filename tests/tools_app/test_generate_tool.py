"""Tests of the tool `generate`, called as a model calls it."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace

import pytest

from tests.pictures import picture
from tools_app.contract import Danger, ToolContext, ToolResult, ToolVisibility, registry
from tools_app.contract.capabilities import MediaKind, NamedPicture
from tools_app.errors import ModelFailed, ToolError
from tools_app.files import Workspace

Call = Callable[..., Awaitable[ToolResult]]
OUTLINE = "1. Origins: where they come from\n2. **Life**: how they live\n- Death"


@dataclass
class Model:
    """A model that answers with an outline, then with sections. It fails once, at section `fails_at`."""

    media: bytes = b""
    fails_at: int = 0
    asked: list[str] = field(default_factory=list)
    made: list[tuple[str, str]] = field(default_factory=list)

    async def ask(self, prompt: str, *, purpose: str, pictures: Sequence[NamedPicture] = ()) -> str:
        assert purpose == "generate"
        self.asked.append(prompt)
        if prompt.startswith("Make the outline"):
            return OUTLINE
        if len(self.asked) == self.fails_at + 1:
            raise ModelFailed("The model is away.")
        return f"## Origins\nWords of call {len(self.asked)}\n## Inner"

    async def make(self, prompt: str, *, kind: MediaKind) -> bytes:
        self.made.append((kind, prompt))
        return self.media


@pytest.fixture
def model() -> Model:
    return Model()


@pytest.fixture
def tool_context(tool_context: ToolContext, model: Model) -> ToolContext:
    return replace(tool_context, ask_model=model.ask, make_media=model.make)


def test_tool_is_moderate_and_offers_possible_kinds() -> None:
    definition = registry.get("generate")
    assert definition.danger is Danger.MODERATE
    offered = {
        (images, audio): definition.parameters_in(ToolVisibility(makes_images=images, makes_audio=audio))["properties"][
            "kind"
        ]["enum"]
        for images in (False, True)
        for audio in (False, True)
    }
    assert offered == {
        (False, False): ["document"],
        (False, True): ["audio", "document"],
        (True, False): ["image", "document"],
        (True, True): ["image", "audio", "document"],
    }


async def test_a_document_is_written_section_by_section(
    call: Call, workspace: Workspace, model: Model, reported: list[str]
) -> None:
    result = await call("generate", kind="document", prompt="On bees", path="bees.md")
    assert result.content.startswith("bees.md is written: 3 sections.")
    text = workspace.read_bytes("bees.md").decode()
    assert [line for line in text.splitlines() if line.startswith("## ")] == ["## Origins", "## Life", "## Death"]
    assert "outline" not in text
    assert text.startswith("## Origins\n\nWords of call 2\n### Inner\n\n## Life")
    assert reported[1] == "Section 2 of 3: Life\n"
    assert "Words of call 2" in model.asked[2]
    assert "- Life: how they live" in model.asked[2]


async def test_unfinished_document_is_continued(call: Call, workspace: Workspace, model: Model) -> None:
    model.fails_at = 2
    with pytest.raises(ToolError, match=r"1 of 3 sections are in bees\.md.*Call generate again"):
        await call("generate", kind="document", prompt="On bees", path="bees.md")
    assert "## Origins" in workspace.read_bytes("bees.md").decode()
    model.fails_at = 0
    result = await call("generate", kind="document", prompt="On bees", path="bees.md")
    assert "3 sections (1 were there already)" in result.content
    assert sum(prompt.startswith("Make the outline") for prompt in model.asked) == 1
    text = workspace.read_bytes("bees.md").decode()
    assert [line for line in text.splitlines() if line.startswith("## ")] == ["## Origins", "## Life", "## Death"]


async def test_picture_is_stored_and_shown(call: Call, workspace: Workspace, model: Model) -> None:
    model.media = picture()
    result = await call("generate", kind="image", prompt="A red square", path="art/red.png")
    assert list(result.images) == ["art/red.png"]
    assert workspace.read_bytes("art/red.png") == picture()
    assert model.made == [("image", "A red square")]


async def test_audio_is_stored(call: Call, workspace: Workspace, model: Model) -> None:
    model.media = b"ID3 sound"
    await call("generate", kind="audio", prompt="Hello", path="hello.mp3")
    assert workspace.read_bytes("hello.mp3") == b"ID3 sound"


@pytest.mark.parametrize(
    ("kind", "path", "reason"),
    [
        ("image", "a.mp3", r"The path of an image ends in \.png"),
        ("audio", "a.wav", r"ends in \.mp3"),
        ("document", "a.docx", r"The path of a document ends in \.md"),
        ("image", "there.png", "exists already"),
        ("document", "there.md", "exists already"),
        ("document", "../there.md", "leads out of the workspace"),
        ("image", "new.png", "not a picture"),
        ("audio", "new.mp3", "not an MP3"),
    ],
)
async def test_failures_are_explained(call: Call, workspace: Workspace, kind: str, path: str, reason: str) -> None:
    workspace.write_bytes("there.png", b"mine")
    workspace.write_bytes("there.md", b"mine")
    with pytest.raises(ToolError, match=reason):
        await call("generate", kind=kind, prompt="x", path=path)
    assert workspace.read_bytes("there.png") == workspace.read_bytes("there.md") == b"mine"
