"""Benchmarks against peers: `python -m benchmarks.tables --help`. The Go-native tool is in gofast-bench/."""
