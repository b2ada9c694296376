"""Files, streams, memory and threads: what all packages but `cluster` read and write with."""
