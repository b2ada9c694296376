"""Random walks on graphs (DeepWalk, node2vec), as text or as a corpus."""
