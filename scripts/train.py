"""`accelerate launch scripts/train.py --config configs/train/default.yaml`: see `gatt.train.run`."""

from __future__ import annotations

from gatt.train.__main__ import main
from gatt.train.runtime import leave

if __name__ == "__main__":
    leave(main())
