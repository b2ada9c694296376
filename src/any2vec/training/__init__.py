"""Training: Algorithm 1 of GraphAny2Vec (hosts, rounds, learning rate), its state, progress and report."""
