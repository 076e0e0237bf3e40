"""What readers say about a file, in words that fit the number."""

from __future__ import annotations

from rfod._io.interface import Notes


def test_words_that_depend_on_the_count() -> None:
    notes = Notes()
    one = notes.places("{count} {line is|lines are} left out of {total}: line {places}.")
    one.add("3")
    one.total = 1200
    assert notes.texts() == ["1 line is left out of 1,200: line 3."]
    one.add("5")
    assert notes.texts() == ["2 lines are left out of 1,200: line 3, 5."]


def test_braces_in_names_stay_as_they_are() -> None:
    notes = Notes()
    notes.places("column {name}: {count} {value|values}.", name="'{a|b} {count}'").add("x")
    notes.add("column '{c|d}' {places}")
    assert notes.texts() == ["column '{a|b} {count}': 1 value.", "column '{c|d}' {places}"]


def test_warnings_come_first() -> None:
    notes = Notes()
    notes.add("a title")
    notes.places("{count} of {total} lines.").add("1")
    notes.places("{count} of {total} lines.").total = 2
    notes.places("{count} of {total} lines.").warning = "50% of the lines are lost: "
    assert notes.texts() == ["50% of the lines are lost: 1 of 2 lines.", "a title"]
