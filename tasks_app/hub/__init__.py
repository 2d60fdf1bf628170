"""The pages and event streams that follow a session in this process."""
