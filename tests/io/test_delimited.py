"""Text files of every kind that people have, read without options."""

from __future__ import annotations

import datetime as dt
import importlib.util
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from rfod._io.delimited import DelimitedSource
from rfod._io.interface import InputError, ReadOptions
from rfod._io.locations import open_source
from rfod._io.source import Batch, read_all

spec = importlib.util.spec_from_file_location("nasty", Path(__file__).parent / "nasty.py")
assert spec is not None
assert spec.loader is not None
nasty: Any = importlib.util.module_from_spec(spec)
spec.loader.exec_module(nasty)

# Files that hold the same orders in another dress.
SAME = [
    "bom.csv",
    "crlf.csv",
    "cr.csv",
    "latin-1.csv",
    "utf-16.csv",
    "utf-16-without-mark.csv",
    "semicolons.csv",
    "tabs.tsv",
    "pipes.txt",
    "thousands.csv",
    "german-thousands.csv",
    "american-dates.csv",
    "three-date-formats.csv",
    "ragged.csv",
    "blank-lines.csv",
    "nul-bytes.csv",
    "excel-sep.csv",
]


def read(folder: Path, name: str, options: ReadOptions | None = None) -> tuple[Batch, list[str]]:
    path = folder / name
    path.write_bytes(nasty.FILES[name])
    source = open_source(str(path), options or ReadOptions())
    return read_all(source), source.notes.texts()


def read_text(folder: Path, text: str, **options: Any) -> tuple[pa.Table, list[str]]:
    path = folder / "text.csv"
    path.write_text(text, encoding="utf-8", newline="")
    source = DelimitedSource(str(path), replace(ReadOptions(), **options))
    return read_all(source).rows, source.notes.texts()


@pytest.mark.parametrize("name", SAME)
def test_the_same_orders_in_another_dress(tmp_path: Path, name: str) -> None:
    batch, _ = read(tmp_path, name)
    wanted = nasty.rows()
    assert batch.rows.column("weight").to_pylist() == [row["weight"] for row in wanted]
    assert batch.rows.column("price").to_pylist() == [row["price"] for row in wanted]
    assert batch.rows.column("country").to_pylist() == [row["country"] for row in wanted]
    dates = [dt.date(2024, row["date"][1], row["date"][0]) for row in wanted]
    assert batch.rows.column("date").to_pylist() == dates


@pytest.mark.parametrize(("name", "line"), [("bom.csv", 62), ("ragged.csv", 63), ("line-breaks.csv", 63)])
def test_rows_know_their_lines(tmp_path: Path, name: str, line: int) -> None:
    batch, _ = read(tmp_path, name)
    assert batch.lines is not None
    lines = nasty.FILES[name].decode("utf-8-sig").splitlines()
    assert batch.lines[60] == line
    assert lines[line - 1].startswith(batch.rows.column("id")[60].as_py())


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("latin-1.csv", "read as Windows-1252"),
        ("nul-bytes.csv", "3 NUL bytes removed"),
        ("ragged.csv", "line 11 (2 fields), 123 (7 fields)"),
        ("blank-lines.csv", "without any value left out: line 11"),
        ("no-header.csv", "no header found; the columns are called 'column_1'"),
        ("duplicate-headers.csv", "'weight' as 'weight_2'"),
        ("mixed-few.csv", "column 'note': 2 values are no number and count as missing: 'broken' (line 5)"),
        ("mixed-many.csv", "column 'note' mixes numbers (67%) with other text; read as text"),
        ("open-quote.csv", "1 quote that is never closed read as an ordinary character: line 11."),
    ],
)
def test_what_had_to_be_done_is_said(tmp_path: Path, name: str, words: str) -> None:
    _, notes = read(tmp_path, name)
    assert any(words in note for note in notes), notes
    assert all("\n" not in note for note in notes)


@pytest.mark.parametrize("name", ["bom.csv", "crlf.csv", "semicolons.csv", "thousands.csv", "numbers-as-text.csv"])
def test_nothing_to_say(tmp_path: Path, name: str) -> None:
    assert read(tmp_path, name)[1] == []


@pytest.mark.parametrize(("name", "words"), [("empty.csv", "is empty"), ("header-only.csv", "has no rows")])
def test_errors_name_the_file_and_a_way_out(tmp_path: Path, name: str, words: str) -> None:
    with pytest.raises(InputError, match=words) as caught:
        read(tmp_path, name)
    assert name in str(caught.value)
    assert "Hint: " in str(caught.value)
    assert "\n" not in str(caught.value)


def test_kinds_of_columns(tmp_path: Path) -> None:
    table, notes = read_text(
        tmp_path,
        "zip,truth,at,zoned,clock,money,share,big\n"
        "01234,true,2024-01-05 10:00,2024-01-05T10:00:00Z,9:15,€ 1.50,5%,99999999999999999999\n"
        "99999,FALSE,2024-02-05 11:30:15,2024-01-05T10:00:00+02:00,23:59:01,€ 2.25,7 %,1\n",
    )
    assert notes == []
    assert table.schema.types == [
        pa.large_string(),
        pa.bool_(),
        pa.timestamp("us"),
        pa.timestamp("us", "UTC"),
        pa.time64("us"),
        pa.float64(),
        pa.int64(),
        pa.float64(),
    ]
    assert table.column("money").to_pylist() == [1.5, 2.25]
    assert table.column("zoned")[1].as_py().hour == 8
    assert table.column("clock")[0].as_py() == dt.time(9, 15)


def test_missing_values(tmp_path: Path) -> None:
    table, notes = read_text(tmp_path, 'a,b\n1,x\nNA,\n-,N/A\n4,"-"\n')
    assert notes == []
    assert table.column("a").to_pylist() == [1, None, None, 4]
    assert table.column("b").to_pylist() == ["x", None, None, "-"]


@pytest.mark.parametrize(
    ("dates", "kind", "wanted"),
    [
        (["13/02/2024", "01/03/2024"], None, dt.date(2024, 3, 1)),
        (["02/13/2024", "01/03/2024"], None, dt.date(2024, 1, 3)),
        (["02/03/2024", "01/03/2024"], "dmy", dt.date(2024, 3, 1)),
        (["02/03/2024", "01/03/2024"], "mdy", dt.date(2024, 1, 3)),
        (["1-2-2024", "31-12-2024"], None, dt.date(2024, 12, 31)),
    ],
)
def test_day_and_month(tmp_path: Path, dates: list[str], kind: str | None, wanted: dt.date) -> None:
    text = "n,when\n" + "".join(f"{n},{date}\n" for n, date in enumerate(dates))
    table, _ = read_text(tmp_path, text, kinds={"when": kind} if kind else {})
    assert table.column("when")[1].as_py() == wanted


@pytest.mark.parametrize("dates", [["02/03/2024", "01/03/2024"], ["13/02/2024", "02/13/2024"]])
def test_dates_that_could_be_either_stay_text(tmp_path: Path, dates: list[str]) -> None:
    table, notes = read_text(tmp_path, "n,when\n" + "".join(f"{n},{date}\n" for n, date in enumerate(dates)))
    assert pa.types.is_large_string(table.schema.field("when").type)
    assert "--type 'when'=dmy" in notes[0]


def dates(n_day_first: int, n_month_first: int) -> str:
    """Lines with dates that tell the order of day and month, and as many that do not."""
    days = [f"{13 + n % 16}/{1 + n % 12:02d}/2024" for n in range(n_day_first)]
    days += [f"{1 + n % 12:02d}/{13 + n % 16}/2024" for n in range(n_month_first)]
    days += [f"{1 + n % 12:02d}/{1 + n % 9:02d}/2024" for n in range(len(days))]
    return "n,when\n" + "".join(f"{n % 7},{day}\n" for n, day in enumerate(days))


@pytest.mark.parametrize(("n_most", "n_few"), [(49, 1), (98, 2), (20, 0), (3, 0)])
def test_a_few_dates_in_another_order_do_not_cost_the_column(tmp_path: Path, n_most: int, n_few: int) -> None:
    table, notes = read_text(tmp_path, dates(n_most, n_few))
    when = table.column("when").to_pylist()
    assert [row for row, day in enumerate(when) if day is None] == list(range(n_most, n_most + n_few))
    assert when[0] == dt.date(2024, 1, 13)
    word = "value is" if n_few == 1 else "values are"
    told = f"column 'when': {n_few} {word} no date with the day first and count{'s' if n_few == 1 else ''} as missing: "
    assert [note.startswith(f"{told}'01/13/2024' (line {n_most + 2})") for note in notes] == [True] * bool(n_few)
    lines = dates(n_few, n_most)
    table, notes = read_text(tmp_path, lines)
    assert table.column("when")[n_few].as_py() == dt.date(2024, 1, 13)
    assert len(notes) == bool(n_few)


@pytest.mark.parametrize(("n_most", "n_few"), [(48, 1), (18, 1), (1, 1), (40, 30)])
def test_dates_in_two_orders_stay_text_and_an_example_of_each_is_named(tmp_path: Path, n_most: int, n_few: int) -> None:
    table, notes = read_text(tmp_path, dates(n_most, n_few))
    assert pa.types.is_large_string(table.schema.field("when").type)
    assert notes == [
        "column 'when' holds dates of which some put the day first, as '13/01/2024' (line 2), and some the month, as "
        f"'01/13/2024' (line {n_most + 2}); read as text. Hint: --type 'when'=dmy or --type 'when'=mdy says which "
        "comes first."
    ]


def test_a_date_that_is_none_in_either_order_tells_nothing(tmp_path: Path) -> None:
    table, notes = read_text(tmp_path, dates(5, 0) + "1,14/15/2024\n")
    assert table.column("when").null_count == 1
    assert "'14/15/2024' (line 12)" in notes[0]


def test_a_comma_that_could_be_either_is_said(tmp_path: Path) -> None:
    text = "a;b\n1,234;x\n5,678;y\n"
    table, notes = read_text(tmp_path, text)
    assert table.column("a").to_pylist() == [1234, 5678]
    assert "--decimal ," in notes[0]
    assert read_text(tmp_path, text, decimal=",")[0].column("a").to_pylist() == [1.234, 5.678]


def test_layout_by_options(tmp_path: Path) -> None:
    table, _ = read_text(tmp_path, "a#b\n'x#y'#2\n", separator="#", quote="'", header=True)
    assert table.to_pylist() == [{"a": "x#y", "b": 2}]
    table, _ = read_text(tmp_path, '1,"x\n2,y\n', quote="none", header=False)
    assert table.column("column_2").to_pylist() == ['"x', "y"]


def test_lines_after_breaks_inside_of_quotes(tmp_path: Path) -> None:
    path = tmp_path / "breaks.csv"
    path.write_text('a,b\n1,"x\ny"\n2\n3,z\n"4\n5"\n6,w\n')
    source = DelimitedSource(str(path), ReadOptions())
    batch = read_all(source)
    assert batch.lines is not None
    assert batch.lines.tolist() == [2, 5, 8]
    assert "line 4 (1 field), 6 (1 field)" in source.notes.texts()[0]


def test_row_names_without_a_heading(tmp_path: Path) -> None:
    table, notes = read_text(tmp_path, "a,b\nr1,1,2\nr2,3,4\n")
    assert table.column_names == ["column_1", "a", "b"]
    assert "'column_1'" in notes[0]
    assert read_text(tmp_path, "a,b\n1,2,\n3,4,\n")[0].column_names == ["a", "b", "column_3"]


def test_columns_a_model_was_fitted_on(tmp_path: Path) -> None:
    text = "code,price,label\n1,abc,1\n2,def,0\n"
    with pytest.raises(InputError, match=r"line 2, column 'price': 'abc' is no number.*fit again"):
        read_text(tmp_path, text, kinds={"price": "numeric"}, fixed_kinds=frozenset({"price"}))
    table, _ = read_text(tmp_path, text, columns=frozenset({"code", "label"}), kinds={"code": "categorical"})
    assert table.to_pylist() == [{"code": "1", "label": 1}, {"code": "2", "label": 0}]


def test_batches_do_not_depend_on_their_size(tmp_path: Path) -> None:
    (tmp_path / "orders.csv").write_bytes(nasty.FILES["ragged.csv"])
    whole = read_all(open_source(str(tmp_path / "orders.csv"), ReadOptions()))
    small = list(open_source(str(tmp_path / "orders.csv"), ReadOptions(batch_rows=7)).batches())
    assert max(batch.rows.num_rows for batch in small) == 7
    assert [batch.first_row for batch in small] == list(range(0, 120, 7))
    assert pa.concat_tables([batch.rows for batch in small]).equals(whole.rows)
    assert np.array_equal(np.concatenate([batch.lines for batch in small]), whole.lines)


def addresses(n: int, n_unquoted: int, header: str = "id,address,amount") -> str:
    """Lines of three fields, `n_unquoted` of them with a separator inside of the address."""
    lines = [f"{i},Main St {i}{', Berlin' if i < n_unquoted else ''},{i % 7}" for i in range(n)]
    return "\n".join([header, *lines]) + "\n"


def test_lines_with_unquoted_separators_are_left_out_and_columns_keep_their_names(tmp_path: Path) -> None:
    table, notes = read_text(tmp_path, addresses(100, 40))
    assert table.column_names == ["id", "address", "amount"]
    assert table.column("id").to_pylist() == list(range(40, 100))
    assert notes == [
        "40% of the lines are not read: the header has 3 names; 40 of 100 lines have another number of fields and are "
        "left out: line 2 (4 fields), 3 (4 fields), 4 (4 fields), 5 (4 fields), 6 (4 fields), .... Hint: a value with "
        "',' in it needs quotes; --sep names another separator, --no-header reads a table without names."
    ]
    _, notes = read_text(tmp_path, addresses(100, 1))
    assert notes[0].startswith(
        "the header has 3 names; 1 of 100 lines has another number of fields and is left out: line 2 (4 fields)."
    )


@pytest.mark.parametrize("n_unquoted", [51, 62, 97, 100])
def test_a_header_that_most_lines_do_not_fit_is_refused(tmp_path: Path, n_unquoted: int) -> None:
    with pytest.raises(InputError) as caught:
        read_text(tmp_path, addresses(100, n_unquoted))
    text = str(caught.value)
    assert f"the header has 3 names, but {n_unquoted} of 100 lines have 4 fields, for example line 2. Hint: " in text
    assert "--no-header" in text
    table, notes = read_text(tmp_path, addresses(100, n_unquoted), header=False)
    assert (table.num_columns, table.num_rows) == (4, n_unquoted)
    assert n_unquoted == 100 or "rows have 4 fields; " in notes[0]


def test_decimal_commas_between_commas(tmp_path: Path) -> None:
    for header, line in (("id,city,price", "{i},Berlin,{i},5"), ("id,low,high", "{i},1,5,2,5")):
        text = "\n".join([header, *(line.format(i=i) for i in range(50))]) + "\n"
        with pytest.raises(InputError, match=r"the header has 3 names, but 50 of 50 lines have [45] fields"):
            read_text(tmp_path, text)


def test_lines_that_fit_a_header_of_fewer_names_show_that_it_is_no_title(tmp_path: Path) -> None:
    lines = [f"{i},{i % 5},{i % 3}" + (",1,2" if i % 9 == 0 else ",1,2" * (i % 8 > 2)) for i in range(80)]
    with pytest.raises(InputError, match="the header has 3 names, but"):
        read_text(tmp_path, "\n".join(["low,high,n", *lines]) + "\n")
    below_title = "Orders, May\nlow,high,n,day\n" + "".join(f"{i},{i % 5},{i % 3},{i % 7}\n" for i in range(20))
    assert read_text(tmp_path, below_title)[0].column_names == ["low", "high", "n", "day"]


def test_row_names_are_different_in_each_line(tmp_path: Path) -> None:
    rows = "".join(f"r{i}\t{i % 4}\t{i % 3}\n" for i in range(60))
    table, notes = read_text(tmp_path, "id\tb\n" + rows)
    assert table.column_names == ["column_1", "id", "b"]
    assert "is taken for row names and called 'column_1'. Hint:" in notes[0]
    with pytest.raises(InputError, match="the header has 2 names, but 61 of 61 lines have 3 fields"):
        read_text(tmp_path, "id\tb\n" + rows + "r1\t1\t1\n")


def test_the_majority_is_counted_over_all_blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rfod._io.delimited._FIRST_ROWS", 100)
    monkeypatch.setattr("rfod._io.delimited.BLOCK_BYTES", 1 << 10)
    table, notes = read_text(tmp_path, addresses(2000, 200))
    assert table.num_rows == 1800
    assert "200 of 2,000 lines have" in notes[0]
    text = addresses(200, 0)
    assert read_text(tmp_path, text + addresses(200, 200).partition("\n")[2])[0].num_rows == 200
    with pytest.raises(InputError, match="but 201 of 401 lines have 4 fields, for example line 202"):
        read_text(tmp_path, text + addresses(201, 201).partition("\n")[2])


def test_a_program_is_no_table(tmp_path: Path) -> None:
    text = "import random, sys\n\n" + "".join(
        f"def f{i}(a, b):\n    c = a + b\n    d = [1, 2, 3, {i}]\n    return max(c, d)\n\n" for i in range(20)
    )
    with pytest.raises(InputError, match=r"the header has 2 names, but 40 of 80 lines .* Hint: is it a table\?"):
        read_text(tmp_path, text)
