"""Phrases: words that occur together more often than their counts let expect."""
