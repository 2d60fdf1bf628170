"""Secrets are masked here: whole texts, streams, requests, answers and the log."""
