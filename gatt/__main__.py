"""`python -m gatt`: the same as the console command."""

from __future__ import annotations

import sys

from gatt.cli import main

if __name__ == "__main__":
    sys.exit(main())
