"""Classifiers that are trained: prediction, explanation, files. Training is in `models.classifier`."""
