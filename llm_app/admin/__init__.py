"""The admin of providers, models, routes and secrets."""

from llm_app.admin import breakers, models, providers, routes, secrets

__all__ = ["breakers", "models", "providers", "routes", "secrets"]
