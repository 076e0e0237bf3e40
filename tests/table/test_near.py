import pytest

from rfod._findings.findings import nearest_category

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
