"""Setup of a provider from its key alone: which provider it is, which models it has, and which one answers."""
