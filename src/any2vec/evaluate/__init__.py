"""How good vectors are: analogies, word similarity, classified vertices, predicted links."""
