"""One file a section: what it writes, as an iterator of the changes in words."""
