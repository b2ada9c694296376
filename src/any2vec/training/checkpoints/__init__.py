"""Checkpoints: written while a run goes on, and read to take it up again."""
