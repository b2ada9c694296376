"""Going on from earlier vectors: what rows begin with, and how old and new are blended."""
