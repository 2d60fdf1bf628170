"""What `make bench` measures: the engine's own cost, beside a floor in the same run. Benchmarks are not tests."""
