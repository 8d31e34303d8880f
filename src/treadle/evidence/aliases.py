"""What Python code calls by other names: `import sys as s` and `from sys import modules as m`."""

import ast


def aliases(module: ast.Module) -> dict[str, str]:
    """By the name in this file, the full name of what was imported or got by a plain assignment."""
    known: dict[str, str] = {}
    for node in ast.walk(module):
        match node:
            case ast.Import(names=names):
                known |= {one.asname or _top(one.name): one.name if one.asname else _top(one.name) for one in names}
            case ast.ImportFrom(module=str(origin), names=names, level=0):
                known |= {one.asname or one.name: f"{origin}.{one.name}" for one in names}
    for node in ast.walk(module):
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if full := full_name(value, known):
                if full.partition(".")[0] in ("sys", "inspect", "importlib", "threading") and name not in known:
                    known[name] = full
    return known


def full_name(node: ast.AST, known: dict[str, str]) -> str:
    """`sys.modules` for whatever leads there: by another name, by `getattr`, by `vars`, by another module's `sys`."""
    match node:
        case ast.Name(id=name):
            return known.get(name, name if name == "__import__" else "")
        case ast.Attribute(value=value, attr=attr):
            inner = full_name(value, known)
            return attr if attr in ("sys", "inspect") and inner else f"{inner}.{attr}" if inner else ""
        case ast.Call(func=ast.Name(id="getattr"), args=[value, ast.Constant(value=str(attr)), *_]):
            return f"{inner}.{attr}" if (inner := full_name(value, known)) else ""
        case ast.Call(func=ast.Name(id="__import__"), args=[ast.Constant(value=str(name)), *_]):
            return name
        case ast.Subscript(value=ast.Call(func=ast.Name(id="vars"), args=[value]), slice=ast.Constant(value=str(attr))):
            return f"{inner}.{attr}" if (inner := full_name(value, known)) else ""
        case ast.Subscript(value=ast.Attribute(value=value, attr="__dict__"), slice=ast.Constant(value=str(attr))):
            return f"{inner}.{attr}" if (inner := full_name(value, known)) else ""
    return ""


def _top(name: str) -> str:
    return name.partition(".")[0]
