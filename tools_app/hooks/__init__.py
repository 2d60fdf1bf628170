"""Hooks: what an administrator lets look at each call, beside the tools themselves.

They may refuse, annotate, or ask for a person's approval. None can change a call or a result.
"""
