"""`python -m pytest_ltm`."""

from __future__ import annotations

import sys

from pytest_ltm._cli import main

if __name__ == "__main__":
    sys.exit(main())
