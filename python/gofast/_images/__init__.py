"""Picture files: found, drawn for, made into samples, and rescued."""
