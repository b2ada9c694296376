"""Random walks: a `Walker` steps by first- or second-order kernels; walks become a worklist, a corpus, or text."""
