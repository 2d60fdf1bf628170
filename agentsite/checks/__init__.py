"""The checks of an installation, as Django's system checks."""
