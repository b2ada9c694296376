"""What is kept of a run: its report and its log, how they are read, and the figures and the page made of them."""
