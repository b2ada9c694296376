"""Hosts that talk to each other: one protocol, engines behind it."""
