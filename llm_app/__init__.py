"""Messages and tools in, one turn out. Knows no task, no session and no tool; only ids that it is given."""
