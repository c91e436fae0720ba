"""Parts of the generated pages."""
