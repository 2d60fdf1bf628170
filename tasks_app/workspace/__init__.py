"""A session's files: folders, uploads, downloads, and the history of changes."""
