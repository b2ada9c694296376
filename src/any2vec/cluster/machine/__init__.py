"""The machine of a host: its cores and their caches, and the threads that a host has on them."""
