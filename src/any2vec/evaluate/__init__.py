"""How good vectors are: analogies and word similarity."""
