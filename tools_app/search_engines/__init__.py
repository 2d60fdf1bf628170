"""Search engines of the web, one adapter each: what is asked of them, and what they find."""
