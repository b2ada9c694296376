"""Samples as pure functions of seed, epoch and position: windows, subsampling, negatives."""
