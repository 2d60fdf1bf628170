"""Work in a child process, which is killed when its call is cancelled."""
