"""Synchronization: masters and mirrors, what travels between them, and how it is combined."""
