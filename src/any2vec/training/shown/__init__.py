"""What is shown and kept of a run: its progress, its figures, its rounds."""
