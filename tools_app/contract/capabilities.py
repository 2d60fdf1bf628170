"""What a tool may ask for and cannot do itself. The code that connects sessions and models puts it into the context."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, Protocol

from tools_app.errors import ModelFailed, NothingStored, ToolError
from tools_app.notes import Cited, Note
from tools_app.skills.skill_files import SkillText


@dataclass(frozen=True, kw_only=True)
class Picture:
    """A picture for a model to look at. `name` is its path or address; `data` a PNG, JPEG, WebP or GIF."""

    name: str
    data: bytes = field(repr=False)


@dataclass(frozen=True, kw_only=True)
class McpEndpoint:
    """A program that is started (`command`, with `environment` and nothing else of the server's), or an address.

    `headers` go with every request to the address. `timeout_s` bounds one call, the start included.
    """

    name: str
    transport: Literal["stdio", "streamable_http"]
    command: Sequence[str] = ()
    environment: Mapping[str, str] = field(default_factory=dict, repr=False)
    url: str = ""
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    timeout_s: float = 60

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True, kw_only=True)
class Engine:
    """A search engine that is set up here. Without a `base_url`, the one of its kind's public service."""

    name: str
    kind: str
    base_url: str = ""
    api_key: str = field(default="", repr=False)


@dataclass(frozen=True, kw_only=True)
class ReaderService:
    """A service that runs a page's JavaScript and answers `base_url` + address with its text, as Jina's reader does.

    It learns every address that it reads.
    """

    base_url: str
    key: str = field(default="", repr=False)


class AskModel(Protocol):
    """Asks a model of the session's person once, outside of the conversation; the answer is its whole text.

    `purpose` is one of llm_app's ("vision", "generate" …): the call is logged, redacted, priced and reserved under it.
    With `pictures`, a model answers that can see. Raises ModelFailed.
    """

    async def __call__(self, prompt: str, *, purpose: str, pictures: Sequence[Picture] = ()) -> str: ...


async def no_model(prompt: str, *, purpose: str, pictures: Sequence[Picture] = ()) -> str:
    """Used if no model is connected."""
    raise ModelFailed("There is no model to ask here.")


MediaKind = Literal["image", "audio"]


class MakeMedia(Protocol):
    """Has a model make a picture of `prompt`, or speak it; the answer is the file. Raises ModelFailed."""

    async def __call__(self, prompt: str, *, kind: MediaKind) -> bytes: ...


async def no_maker(prompt: str, *, kind: MediaKind) -> bytes:
    """Used if no model is connected."""
    raise ModelFailed(f"There is no model that makes {kind} files here.")


class McpTarget(Protocol):
    """Where an MCP server is, with what the task's person needs to be let in. Raises ToolError."""

    async def __call__(self, server: str) -> McpEndpoint: ...


async def no_server(server: str) -> McpEndpoint:
    """Used if none is set up."""
    raise ToolError(f"There is no MCP server called {server!r}.")


class Skills(Protocol):
    """The skills that are open to the task's person."""

    async def get(self, name: str) -> SkillText:
        """Raises ToolError."""

    def is_in_view(self, skill: SkillText) -> bool:
        """Whether the model sees the whole text of an earlier load, as it is now."""


class NoSkills:
    """Used if there are none."""

    async def get(self, name: str) -> SkillText:
        raise ToolError(f"There is no skill called {name!r}.")

    def is_in_view(self, skill: SkillText) -> bool:
        return False


@dataclass(frozen=True, kw_only=True)
class Handoffs:
    """`agents` are those to whom the one that acts, `sender`, may hand on; `left` is how often a task still may be."""

    sender: str = ""
    agents: Sequence[str] = ()
    left: int = 0


class Searches(Protocol):
    """The search engines that are set up, and what was searched for a moment ago."""

    async def engines(self) -> Sequence[Engine]:
        """In the order in which they are asked; none: the one that needs no key."""

    async def cached_result(self, key: str) -> str:
        """What a `KeepSearch` of this key said in the last minutes; empty if there was none."""


class NoSearches:
    """Used if nothing is set up or kept."""

    async def engines(self) -> Sequence[Engine]:
        return ()

    async def cached_result(self, key: str) -> str:
        return ""


class Memory(Protocol):
    """What is remembered for the task's person. Each raises ToolError where nothing may be remembered or read."""

    async def search(self, question: str) -> Sequence[Note]:
        """The nearest notes, best first."""

    async def own(self, named: str) -> Note:
        """The person's own note of this number or text. Raises ToolError if that is ambiguous."""

    async def takes(self, text: str) -> bool:
        """Whether the note is new. Raises ToolError where there is no room."""


class NoMemory:
    """Used if nothing is remembered."""

    async def search(self, question: str) -> Sequence[Note]:
        return ()

    async def own(self, named: str) -> Note:
        raise ToolError("There is no such note.")

    async def takes(self, text: str) -> bool:
        raise ToolError("Nothing is remembered here.")


class Library(Protocol):
    """The files of the session's project."""

    async def search(self, query: str) -> Sequence[Cited]:
        """The nearest passages, best first. Raises ToolError where there is no library."""


class NoLibrary:
    """Used if there is none."""

    async def search(self, query: str) -> Sequence[Cited]:
        raise ToolError("This session has no library.")


@dataclass(frozen=True, kw_only=True)
class Delegation:
    """To whom a task may delegate, how many more tasks, and which tools it has to give."""

    agents: frozenset[str] = frozenset()
    most: int = 0
    tools: frozenset[str] = frozenset()


class StoredResult(Protocol):
    """Gives what the record has under a number of the conversation's outline, whole. Raises NothingStored."""

    async def __call__(self, number: int) -> str: ...


async def nothing_stored(number: int) -> str:
    """Used if there is no record."""
    raise NothingStored()
