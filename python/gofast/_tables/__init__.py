"""Rows of a table or of arrays: columns, labels and numbers, and where they lie."""
