"""The circuit breaker: calls to a provider that keeps failing are paused for a while, for all workers at once."""
