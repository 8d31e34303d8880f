"""Runs before anything else of the test process, and so instead of any other file of this name."""

import gc
import os
import sys

if "TREADLE_WITNESS" in os.environ:
    if os.path.isabs(os.environ["TREADLE_WITNESS"]):  # noqa: PTH117
        __import__("treadle_witness.crossing").crossing.cross()
    __import__("treadle_witness.audit")

    words = list(getattr(sys, "orig_argv", ()))[1:]
    # Plugins that `addopts` names come before ours. They may lie in the checkout, behind everything that is installed.
    if "pytest" in words[:2] or any(os.path.basename(word) == "pytest" for word in words[:1]):  # noqa: PTH119
        sys.path.append(os.getcwd())  # noqa: PTH109
        gc.disable()  # until pytest has put itself together: nothing of that is ever given up
