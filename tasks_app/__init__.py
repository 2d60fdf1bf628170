"""Sessions, tasks, the record of model contexts, and the engine that advances tasks."""
