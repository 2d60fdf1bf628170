"""Prices of models, and the cost of calls."""

from llm_app.pricing import prices, unpriced, usage
from llm_app.pricing.prices import DEAREST

__all__ = ["DEAREST", "prices", "unpriced", "usage"]
