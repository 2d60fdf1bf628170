"""Circuit breakers, shared by all workers: calls to a provider that keeps failing are paused for some time."""
