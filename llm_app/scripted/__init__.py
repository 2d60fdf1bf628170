"""The built-in provider: a tour for new users and scripts for tests, without key or network."""
