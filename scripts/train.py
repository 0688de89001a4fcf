"""`accelerate launch scripts/train.py --config configs/train/default.yaml`: see `gatt.train`."""

from __future__ import annotations

from gatt.runtime import leave
from gatt.train import main

if __name__ == "__main__":
    leave(main())
