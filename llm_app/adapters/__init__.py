"""Protocols: each one file with the bytes of a request, one with the folding of an answer."""
