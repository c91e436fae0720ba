"""The GPU path's figures: `make bench-gpu`; `make gpu-kit` packs them for a machine without tools."""
