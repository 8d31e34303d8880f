"""Runs the benchmarks of this folder in the order of their names, each in a process of its own.

A benchmark is a module here with a `main()` that prints its table: `python bench/run.py [NAME...]`.
"""

import ast
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent


def main() -> None:
    names = benchmarks()
    wanted = sys.argv[1:] or names
    if unknown := sorted(set(wanted) - set(names)):
        sys.exit(f"no benchmark {', '.join(unknown)}; there are: {', '.join(names)}")
    failed = [name for name in wanted if not run(name)]
    if failed:
        sys.exit(f"failed: {', '.join(failed)}")


def benchmarks() -> list[str]:
    return [path.stem for path in sorted(HERE.glob("*.py")) if path.stem != "run" and has_main(path)]


def has_main(path: Path) -> bool:
    return any(isinstance(node, ast.FunctionDef) and node.name == "main" for node in ast.parse(path.read_text()).body)


def run(name: str) -> bool:
    print(f"== {name} ==", flush=True)
    code = f"import importlib; importlib.import_module('bench.{name}').main()"
    done = subprocess.run([sys.executable, "-c", code], cwd=HERE.parent, check=False)
    print(flush=True)
    return done.returncode == 0


if __name__ == "__main__":
    main()
