"""The pages. Each view fetches with the user's rights, calls one verb, and renders or redirects."""
