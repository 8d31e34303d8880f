"""Counts the fsyncs of a process: a few lines of C, loaded before the C library, stand in for the two calls."""

import ctypes
import shutil
import subprocess
import sys
from pathlib import Path

_SOURCE = """
#define _GNU_SOURCE
#include <dlfcn.h>
static long count;
long counted_fsyncs(void) { return __atomic_load_n(&count, __ATOMIC_SEQ_CST); }
static int through(const char *name, int fd)
{
    int (*real)(int) = (int (*)(int))dlsym(RTLD_NEXT, name);
    __atomic_add_fetch(&count, 1, __ATOMIC_SEQ_CST);
    return real(fd);
}
int fsync(int fd) { return through("fsync", fd); }
int fdatasync(int fd) { return through("fdatasync", fd); }
"""


def counting(folder: Path) -> dict[str, str]:
    """What has to be in the environment of a process for its fsyncs to be counted; nothing where that cannot be."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None or not sys.platform.startswith("linux"):
        return {}
    source, library = folder / "fsyncs.c", folder / "fsyncs.so"
    source.write_text(_SOURCE)
    subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-o", library, source, "-ldl"], check=True)
    return {"LD_PRELOAD": str(library)}


def fsyncs() -> int | None:
    """How many there were so far in this process; None if nobody counts them."""
    counter = getattr(ctypes.CDLL(None), "counted_fsyncs", None)
    return None if counter is None else int(counter())
