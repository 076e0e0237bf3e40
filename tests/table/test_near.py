import pytest

from rfod._table.spelling import edit_distance, nearest_category

CITIES = ("Berlin", "München", "Bern", "Hamburg-Altona", "New York")


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("berlin", "Berlin"),
        (" Berlin  ", "Berlin"),
        ("Munchen", "München"),
        ("new  york", "New York"),
        ("Berlni", "Berlin"),
        ("Berln", "Berlin"),
        ("Berliin", "Berlin"),
        ("Hamburg-Altana", "Hamburg-Altona"),
        ("Hanburg-Altana", "Hamburg-Altona"),
        ("Hanburg-Alkana", None),
        ("Paris", None),
        ("Ber", None),
        ("", None),
        ("<script>", None),
    ],
)
def test_nearest_category(text, meant):
    assert nearest_category(text, CITIES) == meant


def test_numbers_are_not_misspelt_and_the_first_of_equals_wins():
    assert nearest_category("10025", ("10024", "10023")) is None
    assert nearest_category("caat", ("cart", "cast")) == "cart"
    assert nearest_category("anything", ()) is None


@pytest.mark.parametrize(
    ("one", "other", "distance"),
    [("", "", 0), ("abc", "abc", 0), ("abc", "acb", 1), ("abc", "ab", 1), ("abc", "xbc", 1), ("abcd", "dcba", 3)],
)
def test_edit_distance(one, other, distance):
    assert edit_distance(one, other, 2) == edit_distance(other, one, 2) == min(distance, 3)
