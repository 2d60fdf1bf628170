"""The runtime of an engine process: event loop, leases, admission, wake-ups, cancellation, live streams, broadcasts."""
