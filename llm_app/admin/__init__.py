"""The admin of providers, models with their routes, and budgets."""

from llm_app.admin import budgets, models, providers

__all__ = ["budgets", "models", "providers"]
