"""Errors of tools. Their messages tell the model about the fault and an alternative."""


class ToolError(Exception):
    """The tool could not do this."""

    def __init__(self, detail: str = "") -> None:
        super().__init__(detail or " ".join((self.__doc__ or "").split()))


class InvalidArguments(ToolError):
    """The arguments do not fit the tool's schema."""


class UnknownTool(ToolError):
    """This tool does not exist."""


class InvalidSchema(ToolError):
    """The schema cannot be used."""


class OutsideWorkspace(ToolError):
    """The path leads out of the workspace. Use a path inside it."""


class AddressRefused(ToolError):
    """Requests to this address are not allowed."""


class FetchFailed(ToolError):
    """The address did not return a usable response."""


class PageLost(ToolError):
    """The page does not respond and was closed. Visit it again, or another one."""


class NothingStored(ToolError):
    """There is no result with this number. Use a number n from the outline of the conversation."""


class ModelFailed(ToolError):
    """The model that this tool calls did not return a usable answer."""


class PortUnreachable(ToolError):
    """Nothing answers at this port of the sandbox."""


class SandboxUnavailable(ToolError):
    """No sandbox works on this server, so commands cannot run. `manage.py doctor` says why."""
