"""Pictures of Pillow's whose pixels are made when they are needed."""
