"""One task in the terminal: the same engine, the same record, another pair of eyes."""
