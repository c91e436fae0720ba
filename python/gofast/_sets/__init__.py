"""What gofast.preprocess writes and gofast.ArrayDataset.open opens: the finished samples of a dataset, on disk."""
