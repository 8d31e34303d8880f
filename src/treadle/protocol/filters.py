"""The filters that templates may use: those of Jinja that cannot blow a text up or declare it harmless, and `fence`."""

from typing import Final

FILTERS: Final = frozenset(
    """
    abs capitalize count d default dictsort fence first float int items join last length list lower map max min reject
    rejectattr reverse select selectattr sort string title trim truncate unique upper wordcount
    """.split()
)
