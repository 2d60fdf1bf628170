"""What the record proves: every request rebuilt, the chain checked, a task run again without a model."""
