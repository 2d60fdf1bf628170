"""The configuration file: its shape, how it is read, and how it is applied."""

from agentsite.configuration.mistakes import ConfigurationError
from agentsite.configuration.start import apply_at_start

__all__ = ["ConfigurationError", "apply_at_start"]
