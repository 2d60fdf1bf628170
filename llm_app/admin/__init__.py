"""The admin of providers, models, routes and budgets."""

from llm_app.admin import budgets, models, providers, routes

__all__ = ["budgets", "models", "providers", "routes"]
