"""The admin of providers, models and routes."""

from llm_app.admin import breakers, models, providers, routes

__all__ = ["breakers", "models", "providers", "routes"]
