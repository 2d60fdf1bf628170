"""A Chromium that all sessions of this process share; each has its own page, isolated from the others."""
