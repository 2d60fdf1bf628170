"""A provider set up from nothing but its key: which one it is, which models it has, which of them answers."""
