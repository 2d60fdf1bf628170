"""What can be wrong with an installation, as Django's system checks."""
