"""Modules that the tests run in child processes, in the place of ours."""
