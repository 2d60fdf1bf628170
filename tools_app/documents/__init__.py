"""Readers of PDF, Office and other documents as text for a model, and writers of documents."""
