"""The provider that ships with the server: a tour for newcomers, scripts for tests. No key, no network."""
