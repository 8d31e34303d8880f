"""How long `treadle` takes to answer, against a Python that does nothing."""

import subprocess
import sys
import time
from pathlib import Path
from statistics import median

ROUNDS = 15
PROGRAM = str(Path(sys.executable).with_name("treadle"))
NOTHING = "python -c pass"
COMMANDS = {
    NOTHING: [sys.executable, "-c", "pass"],
    "treadle --version": [PROGRAM, "--version"],
    "treadle": [PROGRAM],
}


def main() -> None:
    for command in COMMANDS.values():  # a first run of each, uncounted, fills the caches
        seconds(command)
    rounds = [{name: seconds(command) for name, command in COMMANDS.items()} for _ in range(ROUNDS)]
    medians = {name: median(times[name] for times in rounds) for name in COMMANDS}
    print(f"{'command':<20} {'ms':>7} {'ratio':>6}   (median of {ROUNDS} interleaved runs)")
    for name, middle in medians.items():
        print(f"{name:<20} {middle * 1000:7.1f} {middle / medians[NOTHING]:6.2f}")


def seconds(command: list[str]) -> float:
    start = time.perf_counter()
    subprocess.run(command, capture_output=True, check=True)
    return time.perf_counter() - start


if __name__ == "__main__":
    main()
