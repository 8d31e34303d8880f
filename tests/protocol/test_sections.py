"""The sections of documents."""

from treadle.protocol.sections import Section, sections


def test_sections_of_the_second_level_are_counted() -> None:
    text = "# Title\n\n## `Data` flow\ntext\n### Detail\n```\n## code\n```\n## Errors ##\n"
    assert list(sections(text)) == [
        Section(0, "Title", 1),
        Section(1, "`Data` flow", 3),
        Section(0, "Detail", 5),
        Section(2, "Errors", 9),
    ]
    assert Section(1, "`Data`  flow").is_called("data Flow")


def test_where_there_is_no_second_level_all_are_counted() -> None:
    assert [one.number for one in sections("# One\n# Two\n")] == [1, 2]
    assert [one.number for one in sections("### One\n### Two\n")] == [1, 2]
    assert list(sections("nothing\n#not a heading\n")) == []


def test_headings_that_have_numbers_keep_them() -> None:
    text = "# Title\n## R2: Errors\n## R1 – Data\n## R7\n## Rest\n"
    assert [(one.number, one.name) for one in sections(text)] == [
        (0, "Title"),
        (2, "Errors"),
        (1, "Data"),
        (7, "R7"),
        (0, "Rest"),
    ]
