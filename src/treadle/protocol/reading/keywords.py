"""Which keys are the language's own, and which are names that an author gave: `attempts` is a word, `impl` a name."""

from treadle.protocol.reading.parse_records import EXIT_KEYS, RECORD_KEYS


def is_keyword(path: tuple[str, ...], key: str) -> bool:
    """Whether a key below this path belongs to the language.

    Where only such keys can stand, any key does: the strict reading knows them all, and says which one was meant.
    """
    match path:
        case () | ("limits",) | ("roles" | "artifacts" | "graphs", _):
            return True
        case ("types" | "exits", _, _) | ("roles", _, "modes", _):
            return True
        case ("graphs", _, "steps" | "budgets" | "handlers" | "system", _):
            return True
        case ("graphs", _, "steps", _, "thread") | ("graphs", _, "steps", _, "routes", _):
            return True
        case ("types", _):
            return key in RECORD_KEYS
        case ("exits", _):
            return key in EXIT_KEYS
        case _:
            return False
