"""The configuration file: its sections, how it is loaded, and how it is applied."""

from agentsite.configuration.document import ConfigurationError
from agentsite.configuration.installation import apply, apply_at_start, create_shipped_rules, notes
from agentsite.configuration.loader import load

__all__ = ["ConfigurationError", "apply", "apply_at_start", "create_shipped_rules", "load", "notes"]
