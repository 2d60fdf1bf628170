"""Prepared SQL behind querysets: cached statements, and rows written in one message."""
