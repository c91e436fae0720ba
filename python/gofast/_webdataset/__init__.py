"""What gofast.webdataset is made of: shards, their members, stages, decoding."""
