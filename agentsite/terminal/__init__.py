"""One task in the terminal, with the same engine and record as on the page."""
