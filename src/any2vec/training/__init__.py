"""Algorithm 1: hosts, rounds, the model, and what is told of them."""
