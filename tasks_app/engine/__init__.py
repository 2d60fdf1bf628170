"""The engine: serialize the context, call the LLM, parse one tool call, run it, append the result."""
