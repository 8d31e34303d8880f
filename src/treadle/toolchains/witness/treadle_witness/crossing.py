"""Where open files cannot be inherited, because there is a container between: they are opened here, by name."""

from __future__ import annotations

import os


def cross() -> None:
    """Open the order and the line and take their names away, so that from here on all is as if they were inherited."""
    folder = os.environ.pop("TREADLE_WITNESS")
    files = []
    # Without a reader on this side of a virtual machine, waiting for one would be for ever: then there is no witness.
    for name, how in (("order", os.O_RDONLY), ("report", os.O_WRONLY | os.O_NONBLOCK)):
        try:
            file = os.open(os.path.join(folder, name), how)  # noqa: PTH118
        except OSError:
            return
        os.unlink(os.path.join(folder, name))  # noqa: PTH108, PTH118
        os.set_blocking(file, True)
        os.set_inheritable(file, True)
        files.append(str(file))
    os.environ["TREADLE_WITNESS"] = ":".join(files)
