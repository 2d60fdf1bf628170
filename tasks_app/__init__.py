"""Sessions, tasks, the record of what a model saw, and the engine that advances them."""
