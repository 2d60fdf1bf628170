"""The events of tasks, read from the record after it was committed, and sent to the sinks of administrators."""
