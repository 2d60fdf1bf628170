"""What can be wrong with an installation, one file a subject; asked by the doctor, by the probes and by the admin."""
