"""The same work through each peer."""
