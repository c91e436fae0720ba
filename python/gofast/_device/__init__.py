"""Batches that arrive on a GPU."""
