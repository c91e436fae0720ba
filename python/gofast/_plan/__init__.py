"""A torchvision transform, translated into native steps."""
