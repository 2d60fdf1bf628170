"""A fetched page as text for a model."""
