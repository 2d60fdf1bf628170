"""Commands that run on in a session after the call that started them."""
