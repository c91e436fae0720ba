"""What all datasets and the loader share: views, batches, and what runs ahead."""
