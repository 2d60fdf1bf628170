"""A JSON Schema that the result of a task must fit: read where it comes in, shown to the model, checked in the end."""
