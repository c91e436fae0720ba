"""Pictures of Pillow's whose pixels are made when somebody needs them."""
