"""Which edges training sees, as pure functions of seed, epoch and position."""
