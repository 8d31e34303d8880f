"""What code calls by other names."""

import pytest

from treadle.evidence.checks.knows_tests import peeks


@pytest.mark.parametrize(
    ("source", "name"),
    [
        ("import sys as _s\n_s.modules", "sys.modules"),
        ("from sys import modules as m\nm.get('x')", "sys.modules"),
        ("import os\nos.sys.modules", "sys.modules"),
        ("import sys\ngetattr(sys, 'modules')", "sys.modules"),
        ("import sys as s\nvars(s)['modules']", "sys.modules"),
        ("import sys as s\ns.__dict__['modules']", "sys.modules"),
        ("import sys; here = sys\nhere.modules", "sys.modules"),
        ("\n__import__('sys').modules", "sys.modules"),
        ("import sys\nany('Rewriting' in type(f).__name__ for f in sys.meta_path)", "sys.meta_path"),
        ("from sys import path_hooks\nlen(path_hooks)", "sys.path_hooks"),
        ("import sys as s\ns.gettrace()", "sys.gettrace"),
        ("import threading as t\nt.settrace(None)", "threading.settrace"),
        ("from sys import argv as words\n'pytest' in words[0]", "sys.argv"),
        ("from inspect import stack as s\ns()", "inspect.stack"),
        ("import importlib as i\ni.import_module('_pytest.runner')", "_pytest.runner"),
    ],
)
def test_an_alias_of_an_interpreter_module_is_recognised(source: str, name: str) -> None:
    assert [(line, name in what) for line, what in peeks(source)] == [(2, True)]


@pytest.mark.parametrize(
    "source", ["import sys\nsys.stdout", "import sys as s\ns.exit()", "modules = []\nmodules.append(1)", "self.modules"]
)
def test_names_that_only_look_like_the_interpreters_are_left_alone(source: str) -> None:
    assert list(peeks(source)) == []
