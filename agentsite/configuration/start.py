"""The configuration file that the environment names, applied when the server starts."""

from pathlib import Path

from agentsite.configuration.apply import apply_if_new
from agentsite.configuration.load import load
from agentsite.environment import env


def apply_at_start() -> list[str]:
    """Applies `AGENTSITE_CONFIG` if its content changed since it was last applied; returns what changed, in words.

    Raises ConfigurationError.
    """
    path = env.str("AGENTSITE_CONFIG", default="")
    return apply_if_new(load(Path(path))) if path else []
