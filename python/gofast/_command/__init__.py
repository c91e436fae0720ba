"""The command `gofast`: one file for each sub-command, and `main` in front of them."""
