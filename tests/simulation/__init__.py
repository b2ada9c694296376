"""A whole cluster, simulated from one number: options, data, order of messages, and faults; see `oracle.check`."""
