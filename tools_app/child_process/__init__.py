"""Work that is killed with the call it belongs to: it runs in a child process of its own."""
