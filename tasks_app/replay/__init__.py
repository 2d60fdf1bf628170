"""Proofs from the record: requests are rebuilt, the chain is verified, tasks are run again without a model."""
