"""How good vectors are: analogies, word similarity, vertex classification, link prediction."""
