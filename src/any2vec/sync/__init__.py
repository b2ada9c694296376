"""Synchronization: masters and mirrors, what hosts send (schemes), how changes are combined (combiners)."""
