"""A run on one host: its rounds, their schedule, the state between them, how it ends."""
