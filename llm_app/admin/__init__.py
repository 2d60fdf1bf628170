"""The admin of providers, models with their routes, and budgets."""

from llm_app.admin import budgets, models, providers
from llm_app.admin.read_only import ReadOnlyMixin, RedactedPagesMixin, redacted
from llm_app.admin.write_only import WriteOnlyAdmin, WriteOnlyField, WriteOnlyForm

__all__ = [
    "ReadOnlyMixin",
    "RedactedPagesMixin",
    "WriteOnlyAdmin",
    "WriteOnlyField",
    "WriteOnlyForm",
    "budgets",
    "models",
    "providers",
    "redacted",
]
