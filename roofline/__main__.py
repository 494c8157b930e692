"""`python -m roofline` is `roofline`."""

import sys

from roofline.cli import main

if __name__ == "__main__":
    sys.exit(main())
