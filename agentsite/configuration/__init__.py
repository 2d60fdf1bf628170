"""The configuration file: its sections, how it is loaded, and how it is applied."""

from agentsite.configuration.document import ConfigurationError
from agentsite.configuration.installation import apply, apply_at_start, notes, offer_helper_texts
from agentsite.configuration.loader import load

__all__ = ["ConfigurationError", "apply", "apply_at_start", "load", "notes", "offer_helper_texts"]
