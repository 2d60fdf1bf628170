"""Resources that this process holds for a session between calls, such as an open page. They end with the process."""

from collections.abc import Mapping

PAGE = "page"  # name of the browser's page
JOB = "job"  # prefix of background commands
ENDED = "ended job"  # prefix of notices that a background command has ended

PYTHON = "python"  # name of the Python that stays

_held: dict[str, Mapping[str, str]] = {}


def hold(session: str, name: str, description: str) -> None:
    """Register a resource. `description` is for the model, without addresses or content."""
    _held[session] = {**resources_of(session), name: description}


def release(session: str, name: str) -> None:
    remaining = {key: description for key, description in resources_of(session).items() if key != name}
    if remaining:
        _held[session] = remaining
    else:
        _held.pop(session, None)


def resources_of(session: str) -> Mapping[str, str]:
    """Return the descriptions of a session's resources by name. Thread-safe."""
    return _held.get(session, {})


def sessions() -> set[str]:
    """Return the sessions that have resources."""
    return set(_held)


def has_resources() -> bool:
    return bool(_held)
