"""Values of a column that a slip leaves something of, and how columns write numbers and dates."""

from decimal import Decimal

import pytest

from rfod._evidence.domain import Domain, Near, NumberStyle, date_style, in_form, usual_form, write_moment


@pytest.fixture
def cities():
    return Domain(["New York", "San José", "Newark", "Newton", "ozark", "dothan"], [30, 20, 9, 8, 7, 6])


def test_values_that_differ_in_case_blanks_marks_and_order(cities):
    assert cities.same_letters("new  york") == "New York"
    assert cities.same_letters("New-York.") == "New York"
    assert cities.same_letters("New York") is None
    assert cities.same_words("York New") == "New York"
    assert cities.same_words("York Old") is None


def test_values_inside_of_others(cities):
    assert cities.inside("*ozark*") == "ozark"
    assert cities.inside("ozark (est.)") == "ozark"
    assert cities.inside("old dothan") == "dothan"
    assert cities.inside("Boston") is None


def test_cut_off_values(cities):
    assert cities.completed("New Y") == ("New York", 0)
    assert cities.completed("New") == ("New York", 2)
    assert cities.completed("New York") is None
    assert cities.completed("N") is None


def test_the_nearest_value(cities):
    assert cities.nearest("oxark") == Near("ozark", 1, 0)
    assert cities.nearest("Newxxn") == Near("Newton", 2, 0)
    assert cities.nearest("Nework") == Near("Newark", 1, 0)
    assert cities.nearest("zzzzzz") is None
    assert cities.nearest("ab") is None


@pytest.mark.parametrize(
    ("texts", "decimal", "text", "number", "written"),
    [
        (["1.50", "20.25", "3.00"], ".", "7.123", "7.123", "7.12"),
        (["1.50", "20.25", "3.00"], ".", "7", "7", "7.00"),
        (["1.5", "20.25", "3"], ".", "7.1", "7.1", "7.1"),
        (["12", "130", "7"], ".", "-5", "-5", "-5"),
        (["1.234,50", "20.300,75", "3.100,00"], ",", "1.500,5", "1500.5", "1.500,50"),
        (["$1,200", "$30,000", "$2,100"], ".", "$45,000", "45000", "$45,000"),
        (["10 %", "20 %", "35 %"], ".", "5 %", "5", "5 %"),
    ],
)
def test_numbers_are_written_as_the_column_writes_them(texts, decimal, text, number, written):
    style = NumberStyle.of(texts, 0, decimal)
    assert style.read(text) == Decimal(number)
    assert style.write(Decimal(number)) == written


def test_very_large_numbers_are_written_out():
    assert NumberStyle.of(["1", "2"], 0).write(Decimal("1e300")) == f"{10**300}"
    assert NumberStyle(2, 2).write(Decimal("-0.001")) == "-0.00"
    assert NumberStyle.of([], 3).write(Decimal("1.5")) == "1.500"
    assert NumberStyle.of(["1", "2"], 0).read("n/a") is None


@pytest.mark.parametrize(
    ("texts", "style", "next_day"),
    [
        (["1970-01-02", "1970-01-11"], "%Y-%m-%d", "1970-01-12"),
        (["1/2/1970", "1/11/1970"], "-%m/%d/%Y", "1/12/1970"),
        (["02.01.1970 00:00", "11.01.1970 00:00"], "%d.%m.%Y %H:%M", "12.01.1970 00:00"),
        (["1/2/1970 00:00", "1/11/1970 00:00"], "-%m/%d/%Y %H:%M", "1/12/1970 00:00"),
        (["1/2/1970 12:00 AM", "1/11/1970 12:00 AM"], "-%m/%d/%Y %I:%M %p", "1/12/1970 12:00 AM"),
    ],
)
def test_dates_are_written_as_the_column_writes_them(texts, style, next_day):
    assert date_style(texts, [86_400.0, 864_000.0], is_time=False) == style
    assert write_moment(11 * 86_400.0, style) == next_day
    assert date_style(["tomorrow"], [0.0], is_time=False) is None
    assert write_moment(1e300, style) is None


@pytest.mark.parametrize(
    ("style", "written"),
    [
        ("-%m/%d/%Y %H:%M", "10/5/2024 03:04"),
        ("--%m/%d/%Y %H:%M", "10/5/2024 3:04"),
        ("--%d %b %Y %I:%M:%S %p", "5 Oct 2024 3:04:09 AM"),
    ],
)
def test_leading_zeros_of_minutes_stay(style, written):
    assert write_moment(1_728_097_449.0, style) == written


def test_a_time_of_day_may_lack_the_zero_of_its_hour():
    assert date_style(["3:04", "13:00"], [3 * 3600 + 240.0, 13 * 3600.0], is_time=True) == "--%H:%M"


def test_one_grouped_number_does_not_group_the_others():
    plain = [str(number) for number in range(1000, 1040)]
    assert NumberStyle.of([*plain, "1,234"], 0).write(Decimal(50000616)) == "50000616"
    assert NumberStyle.of(["7", "12", "1,234", "50,000"], 0).write(Decimal(50000616)) == "50,000,616"
    assert NumberStyle.of(["1,234", "5,000.5"], 1).write(Decimal(616)) == "616"


def test_forms():
    form = usual_form(["2022-05-04", "2021-11-30", "x"])
    assert in_form("2022-0504", form) == "2022-05-04"
    assert in_form("2022-050", form) is None
    assert in_form("630335", usual_form(["0630335", "0820001"])) == "0630335"
    assert usual_form(["a", "bc", "d-e"]) is None
    assert usual_form([]) is None
