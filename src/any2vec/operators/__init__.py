"""From samples to updates: vector code that applies the operator to the labels."""
