from treadle.cli.narrow import narrowed

TABLE = "# Title\n\n| A | B | C |\n| --- | --- | --- |\n| x | 1 \\| 2 | |\n| | 3 | 4 |\n"


def test_a_table_that_fits_is_left_alone() -> None:
    assert narrowed(TABLE, 80) == TABLE


def test_a_table_that_does_not_fit_becomes_a_list_without_empty_cells() -> None:
    assert narrowed(TABLE, 20) == ("# Title\n\n- **x**\n    - B: 1 \\| 2\n- **x**\n    - B: 3\n    - C: 4\n")
