"""The admin of providers, models, routes and budgets."""

from llm_app.admin import breakers, budgets, models, providers, routes

__all__ = ["breakers", "budgets", "models", "providers", "routes"]
