"""Loads the engine where it is imported: into the fork server, when that preloads this module."""

import torch

import gofast

gofast.ArrayDataset(torch.zeros(4, 2), torch.zeros(4), mean=0.5, std=0.5)[:2]
