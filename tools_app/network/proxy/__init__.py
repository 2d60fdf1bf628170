"""A proxy on loopback for programs that tools start: it lets through what the network policy permits."""
