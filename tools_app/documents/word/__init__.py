"""The Word reader: nothing of a document is lost in silence."""
