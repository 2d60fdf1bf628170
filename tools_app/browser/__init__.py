"""A Chromium that all sessions of this process share: each has a page of its own, and nothing of the others'."""
