"""The devices that are there to run on."""

import torch

DEVICES = ("cpu", *(("cuda",) if torch.cuda.is_available() else ()))
