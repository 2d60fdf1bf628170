"""Benchmarks of `make bench`: the engine's cost, compared with a floor in the same run. They are not tests."""
