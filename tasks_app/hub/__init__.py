"""Live updates: the pages and event streams that follow a session in this process."""
