"""What a host computes: a slice of its part, by rows or by columns."""
