"""Capabilities that a tool needs and does not have itself. The code that connects sessions and models provides them."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, Protocol

from tools_app.errors import ModelFailed, NothingStored, ToolError
from tools_app.notes import CitedPassage, Note
from tools_app.skills.skill_files import SkillText


@dataclass(frozen=True, kw_only=True)
class NamedPicture:
    """A picture for a model to look at. `name` is its path or address, `data` a PNG, JPEG, WebP or GIF."""

    name: str
    data: bytes = field(repr=False)


@dataclass(frozen=True, kw_only=True)
class McpEndpoint:
    """The address of an MCP server, or the `command` that starts one, with no environment but `environment`.

    `headers` go with every request to the address. `timeout_s` bounds one call, including the start of the program.
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
    """A configured search engine. Without a `base_url`, the public service of its kind is used."""

    name: str
    kind: str
    base_url: str = ""
    api_key: str = field(default="", repr=False)


@dataclass(frozen=True, kw_only=True)
class ReaderService:
    """A service that runs a page's JavaScript and returns its text for `base_url` + address, as Jina's reader does.

    It learns every address that it reads.
    """

    base_url: str
    key: str = field(default="", repr=False)


class AskModel(Protocol):
    """Ask a model of the session's person once, outside the conversation, and return its full text.

    `purpose` is one of llm_app's ("vision", "generate" …): the call is logged, redacted, priced and reserved under it.
    With `pictures`, a model that can see answers.

    Raises: ModelFailed.
    """

    async def __call__(self, prompt: str, *, purpose: str, pictures: Sequence[NamedPicture] = ()) -> str: ...


async def no_model(prompt: str, *, purpose: str, pictures: Sequence[NamedPicture] = ()) -> str:
    """Replace AskModel where no model is connected."""
    raise ModelFailed("There is no model to ask here.")


MediaKind = Literal["image", "audio"]


class MakeMedia(Protocol):
    """Have a model make a picture of `prompt`, or speak it, and return the file.

    Raises: ModelFailed.
    """

    async def __call__(self, prompt: str, *, kind: MediaKind) -> bytes: ...


async def no_media_maker(prompt: str, *, kind: MediaKind) -> bytes:
    """Replace MakeMedia where no model is connected."""
    raise ModelFailed(f"There is no model that makes {kind} files here.")


class McpTarget(Protocol):
    """Return the endpoint of an MCP server, with the credentials of the task's person.

    Raises: ToolError.
    """

    async def __call__(self, server: str) -> McpEndpoint: ...


async def no_server(server: str) -> McpEndpoint:
    """Replace McpTarget where no server is configured."""
    raise ToolError(f"There is no MCP server called {server!r}.")


class RelistMcpTools(Protocol):
    """Have the tools of an MCP server listed again soon, because the server has announced other ones."""

    async def __call__(self, server: str) -> None: ...


async def no_listing(server: str) -> None:
    """Replace RelistMcpTools where no server is configured."""


class Skills(Protocol):
    """The skills that the task's person can use."""

    async def get(self, name: str) -> SkillText:
        """Return the skill with this name.

        Raises: ToolError.
        """

    def is_in_view(self, skill: SkillText) -> bool:
        """Return whether the model still sees the full, current text from an earlier load."""


class NoSkills:
    """Skills, where there are none."""

    async def get(self, name: str) -> SkillText:
        raise ToolError(f"There is no skill called {name!r}.")

    def is_in_view(self, skill: SkillText) -> bool:
        return False


@dataclass(frozen=True, kw_only=True)
class Handoffs:
    """The agents to which the acting agent, `sender`, can hand on, and how many handoffs are `remaining`."""

    sender: str = ""
    agents: Sequence[str] = ()
    remaining: int = 0


class Searches(Protocol):
    """The configured search engines, and a cache of recent searches."""

    async def engines(self) -> Sequence[Engine]:
        """Return the engines in the order in which they are asked. The default is an engine without a key."""

    async def cached_result(self, key: str) -> str:
        """Return the content of a recent `CacheSearch` with this key, or ""."""


class NoSearches:
    """Searches, where no engine is configured and nothing is cached."""

    async def engines(self) -> Sequence[Engine]:
        return ()

    async def cached_result(self, key: str) -> str:
        return ""


class Memory(Protocol):
    """The notes of the task's person. Each method raises ToolError if notes are disabled."""

    async def search(self, question: str) -> Sequence[Note]:
        """Return the nearest notes, best first."""

    async def own_note(self, number_or_text: str) -> Note:
        """Return the person's own note with this number or text.

        Raises: ToolError if there is none, or several.
        """

    async def is_new(self, text: str) -> bool:
        """Return whether the note is new.

        Raises: ToolError if there is no room.
        """


class NoMemory:
    """Memory, where there are no notes."""

    async def search(self, question: str) -> Sequence[Note]:
        return ()

    async def own_note(self, number_or_text: str) -> Note:
        raise ToolError("There is no such note.")

    async def is_new(self, text: str) -> bool:
        raise ToolError("Nothing is remembered here.")


class ProjectLibrary(Protocol):
    """The files of the session's project."""

    async def search(self, query: str) -> Sequence[CitedPassage]:
        """Return the nearest passages, best first.

        Raises: ToolError if the session has no library.
        """


class NoProjectLibrary:
    """ProjectLibrary, where there are no files."""

    async def search(self, query: str) -> Sequence[CitedPassage]:
        raise ToolError("This session has no library.")


@dataclass(frozen=True, kw_only=True)
class Delegation:
    """The agents to which a task can delegate, how many more tasks it can give, and the tools to pass on."""

    agents: frozenset[str] = frozenset()
    max_tasks: int = 0
    tools: frozenset[str] = frozenset()


class StoredResult(Protocol):
    """Return the full record behind a number of the conversation's outline.

    Raises: NothingStored.
    """

    async def __call__(self, number: int) -> str: ...


async def nothing_stored(number: int) -> str:
    """Replace StoredResult where there is no record."""
    raise NothingStored()
