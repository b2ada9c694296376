"""Files, streams, memory and threads: what every other package reads and writes with."""
