"""PDF and Office files as text for a model."""
