"""What gofast.preprocess writes and ArrayDataset.open opens: the finished samples of a dataset, on disk."""
