"""A proxy on loopback that applies the network policy to programs started by tools."""
