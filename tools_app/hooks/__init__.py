"""Hooks: checks of each call that administrators add to those of the tools.

They can refuse, annotate, or ask for a person's approval. None can change a call or a result.
"""
