"""What stands around a release: notices, a bill of materials, and the files that an index accepts."""
