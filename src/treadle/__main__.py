"""`python -m treadle` is `treadle`."""

import sys

from treadle.cli.start import main

sys.exit(main())
