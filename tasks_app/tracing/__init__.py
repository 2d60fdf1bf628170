"""Events of tasks, read from the committed record and sent to the administrators' sinks."""
