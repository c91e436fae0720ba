"""What gofast.preprocess writes and gofast.open_set opens: the finished samples of a dataset, on disk."""
