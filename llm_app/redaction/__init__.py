"""Secrets are redacted here: whole texts, streams, requests, answers and the log."""
