"""The door to the native engine, and what a whole process has once."""
