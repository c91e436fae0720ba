"""dates=: feature columns of dates and times as numbers, beside pandas and numpy."""

from __future__ import annotations

import datetime
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest
import torch
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from torch.utils.data import ConcatDataset, Subset

import gofast
from gofast import TableDataset, errors
from reference import assert_same_batches

UNITS = ["D", "h", "m", "s", "ms", "us", "ns"]
NAN = float("nan")

# Around 1970 on both sides, leap days, ends of centuries, and as far as nanoseconds reach.
MOMENTS = [
    "1970-01-01T00:00:00",
    "1969-12-31T23:59:59.999999999",
    "1969-12-31T00:00:00",
    "1960-02-29T12:34:56.789",
    "1900-02-28T23:00:00.000001",
    "1900-03-01T00:00:00",
    "2000-02-29T00:00:00.5",
    "2024-02-29T23:59:59.999999999",
    "2100-12-31T01:02:03",
    "1677-09-23T00:00:00",
    "2262-04-11T23:47:16.854775807",
]


def moments(unit: str = "ns") -> npt.NDArray[np.datetime64]:
    return np.array(MOMENTS, f"datetime64[{unit}]")


def read(path: Any, unit: str = "s", **options: Any) -> TableDataset:
    return TableDataset(path, **{"label": None, "dates": {"when": unit}, "dtype": torch.int64, **options})


def numbers(ds: TableDataset) -> list[int]:
    """The first column."""
    column: list[int] = ds[:]["features"][:, 0].tolist()
    return column


def parquet(path: Path, when: Any, **options: Any) -> Path:
    pq.write_table(pa.table({"when": when}), path, **options)
    return path


# ------------------------------------------------------------------ Parquet


@pytest.mark.parametrize("zone", [None, "UTC", "Asia/Kolkata"])
@pytest.mark.parametrize("stored", ["s", "ms", "us", "ns"])
@pytest.mark.parametrize(
    "options", [{}, {"use_dictionary": False}, {"column_encoding": {"when": "DELTA_BINARY_PACKED"}}]
)
def test_timestamps(stored: str, zone: str | None, options: dict[str, Any], tmp_path: Path) -> None:
    when = moments(stored)
    if "column_encoding" in options:
        options = {**options, "use_dictionary": False}
    path = parquet(tmp_path / "t.parquet", pa.array(when, pa.timestamp(stored, zone)), **options)
    for unit in UNITS:
        want = pd.Series(when).to_numpy(f"datetime64[{unit}]").astype("int64")
        assert numbers(read(path, unit)) == want.tolist(), unit


def test_legacy_timestamps_of_spark(tmp_path: Path) -> None:
    for options in ({}, {"use_dictionary": False}):
        path = tmp_path / "t.parquet"
        parquet(path, pa.array(moments()), use_deprecated_int96_timestamps=True, **options)
        assert pq.ParquetFile(path).schema.column(0).physical_type == "INT96"
        for unit in UNITS:
            assert (
                numbers(read(path, unit)) == moments().astype(f"datetime64[{unit}]").astype("int64").tolist()
            )


@pytest.mark.parametrize("kind", [pa.date32(), pa.date64()])
def test_days(kind: pa.DataType, tmp_path: Path) -> None:
    days = ["0001-01-01", "1969-12-31", "1970-01-01", "2024-02-29", "9999-12-31"]
    path = parquet(tmp_path / "t.parquet", pa.array([datetime.date.fromisoformat(day) for day in days], kind))
    for unit in UNITS[:-1]:
        want = np.array(days, "datetime64[D]").astype(f"datetime64[{unit}]").astype("int64")
        assert numbers(read(path, unit)) == want.tolist()


@pytest.mark.parametrize("kind", [pa.time32("ms"), pa.time64("us"), pa.time64("ns")])
def test_times_of_day(kind: pa.DataType, tmp_path: Path) -> None:
    times = [datetime.time(0), datetime.time(12, 34, 56, 789000), datetime.time(23, 59, 59, 999000)]
    path = parquet(tmp_path / "t.parquet", pa.array(times, kind))
    midnight = datetime.datetime(1970, 1, 1)
    for unit in UNITS:
        want = np.array(
            [datetime.datetime.combine(midnight, t) for t in times], f"datetime64[{unit}]"
        ).astype("int64")
        assert numbers(read(path, unit)) == want.tolist()


def test_the_first_day_of_nanoseconds(tmp_path: Path) -> None:
    """numpy wraps on the way to a coarser unit, and says 2262-04-11."""
    path = parquet(tmp_path / "t.parquet", pa.array(np.array(["1677-09-22"], "datetime64[ns]")))
    assert numbers(read(path, "D")) == np.array(["1677-09-22"], "datetime64[D]").astype("int64").tolist()


def test_beyond_64_bits(tmp_path: Path) -> None:
    far = np.array(["2024-01-31", "9999-12-31T23:59:59"], "datetime64[us]")
    path = parquet(tmp_path / "t.parquet", pa.array(far))
    assert numbers(read(path, "us")) == far.astype("int64").tolist()
    with pytest.raises(
        errors.BadValueError, match=r'coarser unit in dates=: "9999-12-31 23:59:59"'
    ) as caught:
        read(path, "ns")
    assert (caught.value.path, caught.value.row, caught.value.column) == (str(path), 1, "when")
    (tmp_path / "t.csv").write_text("when\n2024-01-31\n9999-12-31T23:59:59\n")
    with pytest.raises(errors.BadValueError, match="coarser unit in dates=") as caught:
        read(tmp_path / "t.csv", "ns")
    assert (caught.value.line, caught.value.column) == (3, "when")


@pytest.mark.parametrize(
    ("column", "kind", "text"),
    [
        ([1, 2], errors.SchemaError, "holds integers"),
        ([0.5, 2], errors.SchemaError, "holds floats"),
        (["2024-01-31"], errors.SchemaError, "holds text"),
        ([True], errors.SchemaError, "holds integers"),
        ([datetime.timedelta(1)], errors.SchemaError, "holds integers"),  # as pyarrow stores it
        ([[datetime.date(2024, 1, 31)]], errors.SchemaError, "a list of dates"),
    ],
)
def test_other_columns_of_parquet(column: Any, kind: Any, text: str, tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"when": pa.array(column), "x": [1] * len(column)}), path)
    with pytest.raises(kind, match=text) as caught:
        read(path)
    assert caught.value.column == "when"


def test_dates_without_dates(tmp_path: Path) -> None:
    path = parquet(tmp_path / "t.parquet", pa.array(moments()))
    with pytest.raises(errors.UnsupportedError, match=r'"when".*a date or time.*dates=\{"when": "s"\}'):
        TableDataset(path, label=None)
    pq.write_table(pa.table({"when": moments(), "x": range(len(MOMENTS))}), path)
    with pytest.raises(errors.UnsupportedError, match="a date or time cannot be a label"):
        TableDataset(path, label="when")
    (tmp_path / "t.csv").write_text("when,x\n2024-01-31,1\n")
    with pytest.raises(errors.SchemaError, match=r"a date: dates= makes numbers") as caught:
        TableDataset(tmp_path / "t.csv", label=None)
    assert caught.value.line == 2


# ------------------------------------------------------------------ text files


@pytest.mark.parametrize(
    "form", ["{:%Y-%m-%d %H:%M:%S.%f}", "{:%Y-%m-%dT%H:%M}", "{:%Y-%m-%d}", "{:%Y-%m-%dT%H:%M:%SZ}"]
)
@pytest.mark.parametrize("suffix", ["csv", "csv.gz"])
def test_iso_8601(form: str, suffix: str, tmp_path: Path) -> None:
    cells = [form.format(moment) for moment in pd.to_datetime(pd.Series(moments()))]
    pd.DataFrame({"when": cells, "x": range(len(cells))}).to_csv(tmp_path / f"t.{suffix}", index=False)
    want = pd.to_datetime(pd.Series(cells), format="ISO8601", utc=True).dt.tz_localize(None)
    for unit in UNITS:
        got = numbers(read(tmp_path / f"t.{suffix}", unit))
        assert got == want.to_numpy(f"datetime64[{unit}]").astype("int64").tolist()


@pytest.mark.parametrize("zone", ["UTC", "Asia/Kolkata", "America/St_Johns"])
def test_offsets_are_utc(zone: str, tmp_path: Path) -> None:
    when = pd.Series(pd.to_datetime(MOMENTS[:9], format="ISO8601", utc=True)).dt.tz_convert(zone)
    when = when[when.dt.strftime("%z").str[-2:].astype(int) % 30 == 0]  # no seconds, as local times once had
    pd.DataFrame({"when": when}).to_csv(tmp_path / "t.csv", index=False)
    want = when.dt.tz_convert("UTC").dt.tz_localize(None).to_numpy("datetime64[ns]").astype("int64")
    assert numbers(read(tmp_path / "t.csv", "ns")) == want.tolist()


# Between bars; each is refused.
NO_DATES = """\
2023-02-29|1900-02-29|2024-04-31|2024-00-01|2024-13-01|2024-01-00|2024-1-31|24-01-31|2024/01/31|\
31.01.2024|20240131|2024-01|2024|1706659200|0.5|True|tomorrow|-2024-01-31|2024-01-31 24:00|\
2024-01-31 12:60|2024-01-31 12:34:60|2024-01-31 12|2024-01-31 12:34:56.|\
2024-01-31 12:34:56.1234567890|2024-01-31 12:34:56,5|2024-01-31 12:34Z+01:00|2024-01-31Z|\
2024-01-31 12:34+0100|2024-01-31 12:34+01|2024-01-31 12:34+24:00|2024-01-31 12:34 UTC|\
2024-01-31  12:34|2024-01-31 | 2024-01-31|2024-01-31 9:00 AM|2024-01-31x|2024-W05-3|\
\uff12024-01-31"""


@pytest.mark.parametrize("cell", NO_DATES.split("|"))
def test_what_is_no_date(cell: str, tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text(f'when,x\n2024-01-31,1\n\n"{cell}",2\n', encoding="utf-8")
    with pytest.raises(errors.BadValueError, match="dates=") as caught:
        read(path)
    assert (caught.value.row, caught.value.line, caught.value.column) == (1, 4, "when")
    assert f'"{cell}"' in str(caught.value) and str(path) in str(caught.value)


TIMES = st.builds(
    lambda date, time, form: (f"{date}{form[0]}{time}{form[1]}", f"{date}T{time}", form[1]),
    st.dates(datetime.date(1, 1, 3)).map(str),
    st.times().map(lambda time: time.isoformat(timespec="auto")),
    st.tuples(st.sampled_from(" T"), st.sampled_from(["", "Z", "+00:00", "-05:30", "+23:59"])),
)


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(cells=st.lists(TIMES, min_size=1, max_size=20), unit=st.sampled_from(UNITS[:-1]))
@example(cells=[("0004-02-29 00:00:00+23:59", "0004-02-29T00:00:00", "+23:59")], unit="us")
def test_any_times(cells: list[tuple[str, str, str]], unit: str, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("when,x\n" + "".join(f"{cell},1\n" for cell, _, _ in cells))
    want = []
    for _, local, offset in cells:
        moment = np.datetime64(local, "us")
        if len(offset) > 1:
            ahead = np.timedelta64(int(offset[1:3]), "h") + np.timedelta64(int(offset[4:]), "m")
            moment += ahead if offset[0] == "-" else -ahead
        want.append(int(moment.astype(f"datetime64[{unit}]").astype("int64")))
    assert numbers(read(tmp_path / "t.csv", unit)) == want


# ------------------------------------------------------------------ missing cells, files, options


@pytest.mark.parametrize("form", ["csv", "parquet", "int96"])
def test_missing_dates_follow_fill_value(form: str, tmp_path: Path) -> None:
    when = pd.Series(pd.to_datetime(["2024-01-31", None, "1960-01-01"]))
    path = tmp_path / "t"
    if form == "csv":
        pd.DataFrame({"when": when, "x": [1, 2, 3]}).to_csv(path, index=False)
    else:
        parquet(path, pa.array(when), use_deprecated_int96_timestamps=form == "int96")
    assert numbers(read(path, "D", fill_value=-1)) == [19753, -1, -3653]
    assert numbers(read(path, "D", fill_value={"when": 7})) == [19753, 7, -3653]
    kept = read(path, "D", fill_value=NAN, dtype=torch.float32)[:]["features"][:, 0]
    assert torch.equal(kept.isnan(), torch.tensor([False, True, False]))
    with pytest.raises(errors.MissingValueError, match="fill_value=") as caught:
        read(path)
    assert (caught.value.row, caught.value.column) == (1, "when")


@pytest.mark.parametrize("form", ["dictionary", "plain", "DELTA_BINARY_PACKED", "feather", "duration"])
def test_nat_that_is_no_null(form: str, tmp_path: Path) -> None:
    """Writers without nulls leave numpy's NaT, the least integer: it is missing, as in pandas."""
    ticks = np.array([19753 * 86_400 * 10**9, np.iinfo("int64").min, 0], "int64")
    kind = pa.duration("ns") if form == "duration" else pa.timestamp("ns")
    when = pa.Array.from_buffers(kind, 3, [None, pa.py_buffer(ticks)])
    path = tmp_path / "t"
    if form in ("feather", "duration"):
        feather.write_feather(pa.table({"when": when}), path, compression="uncompressed")
        theirs = pd.read_feather(path)
    else:
        delta = {"column_encoding": {"when": form}} if form.isupper() else {}
        options: dict[str, Any] = {"use_dictionary": form == "dictionary", **delta}
        theirs = pd.read_parquet(parquet(path, when, **options))
    assert theirs["when"].isna().tolist() == [False, True, False]
    assert numbers(read(path, "D", fill_value=-1)) == [19753, -1, 0]
    kept = read(path, "D", fill_value=NAN, dtype=torch.float32)[:]["features"][:, 0]
    assert kept.isnan().tolist() == [False, True, False] and kept[0] == 19753
    with pytest.raises(
        errors.MissingValueError, match=r"NaT in a feature column: pass fill_value="
    ) as caught:
        read(path)
    assert (caught.value.row, caught.value.column) == (1, "when")


def test_durations_in_parquet_are_pandas_integers(tmp_path: Path) -> None:
    """The file stores integers, and Arrow's note that they are durations, which other readers ignore."""
    frame = pd.DataFrame({"took": pd.to_timedelta([1500, 0, -7], "ms").astype("timedelta64[ns]"), "x": 1})
    frame.to_parquet(tmp_path / "t.parquet")
    ours = TableDataset(tmp_path / "t.parquet", label=None, dtype=torch.int64)
    theirs = pd.read_parquet(tmp_path / "t.parquet")["took"].astype("int64")
    assert numbers(ours) == theirs.tolist() == [1_500_000_000, 0, -7_000_000]


@pytest.mark.parametrize("cell", ["", "NaT", "NA", "nan"])
def test_words_for_a_missing_date(cell: str, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(f"x,when\n1,{cell}\n2,1970-01-02\n")
    assert numbers(read(tmp_path / "t.csv", "D", columns=["when"], fill_value=9)) == [9, 1]


def test_files_of_other_precision_are_one_table(tmp_path: Path) -> None:
    paths = [parquet(tmp_path / f"{unit}.parquet", pa.array(moments(unit))) for unit in ("ms", "ns")]
    paths.append(parquet(tmp_path / "days.parquet", pa.array(moments("D"))))
    csv = tmp_path / "t.csv"
    csv.write_text("when\n1970-01-02\n")
    want = [*moments("D").astype("int64").tolist() * 3, 1]
    assert numbers(read([*paths, csv], "D")) == want


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_beside_other_columns(form: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    when = pd.to_datetime(rng.integers(-(10**18), 10**18, 2000)).floor("s")
    frame = pd.DataFrame(
        {"x": rng.standard_normal(2000), "when": when, "n": rng.integers(0, 9, 2000), "label": 1}
    )
    path = tmp_path / "t"
    _ = frame.to_csv(path, index=False) if form == "csv" else frame.to_parquet(path)
    ds = TableDataset(path, dates={"when": "s"}, dtype=torch.float64)
    want = frame.assign(when=frame["when"].to_numpy("datetime64[s]").astype("int64")).drop(columns="label")
    assert np.array_equal(ds[:]["features"].numpy(), want.to_numpy(np.float64))
    assert ds.columns == ["x", "when", "n"]
    for dtype in (
        torch.float32,
        torch.float64,
    ):  # no type holds nanoseconds beside floats: rounded once, as numpy does
        rounded = TableDataset(path, dates={"when": "ns"}, dtype=dtype)[:]["features"][:, 1]
        assert torch.equal(rounded, torch.tensor(when.astype("datetime64[ns]").astype("int64")).to(dtype))


def test_pickles_caches_and_conversions(tmp_path: Path) -> None:
    path, cache = parquet(tmp_path / "t.parquet", pa.array(moments())), tmp_path / "t.cache"
    for unit in ("D", "s", "ns"):
        for _ in range(2):
            ds = read(path, unit, cache=cache)
            assert numbers(ds) == moments(unit).astype("int64").tolist()
        assert_same_batches(pickle.loads(pickle.dumps(ds)), ds, batch_size=4)
    with pytest.raises(errors.OptionError, match="dates= is for its sources"):
        read(cache)
    gofast.convert(path, tmp_path / "out.parquet", label=None, dates={"when": "h"})
    assert pd.read_parquet(tmp_path / "out.parquet")["when"].tolist() == moments("h").astype("int64").tolist()


@pytest.mark.parametrize(
    ("options", "kind", "text"),
    [
        ({"dates": "s"}, errors.OptionError, "give a mapping"),
        ({"dates": ["when"]}, errors.OptionError, "give a mapping"),
        ({"dates": {"when": "Y"}}, errors.OptionError, "is not one of D, h, m, s, ms, us, ns"),
        ({"dates": {"when": None}}, errors.OptionError, "is not one of"),
        ({"dates": {"when": ["s"]}}, errors.OptionError, "is not one of"),
        ({"dates": {0: "s"}}, errors.OptionError, "names of columns"),
        ({"dates": {"then": "s"}}, errors.SchemaError, 'dates="then" is not a column'),
        (
            {"dates": {"when": "s"}, "exclude": "when"},
            errors.SchemaError,
            "dates= names a column that is not",
        ),
        ({"dates": {"when": "s"}, "label": "when"}, errors.SchemaError, "dates= names a column that is not"),
        ({"dates": {"when": "s"}, "categories": {"when": ["a"]}}, errors.OptionError, "twice"),
    ],
)
def test_wrong_options(options: dict[str, Any], kind: Any, text: str, tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("when,x\n2024-01-31,1\n")
    with pytest.raises(kind) as caught:
        TableDataset(path, **{"label": None, **options})
    assert text in str(caught.value)


def test_arrays_have_no_dates(tmp_path: Path) -> None:
    np.save(tmp_path / "t.npy", np.zeros((3, 2)))
    with pytest.raises(errors.OptionError, match="dates= is for text and Parquet files"):
        read(tmp_path / "t.npy", dates={"0": "s"})


@pytest.mark.parametrize(
    "cell, nanoseconds",
    [
        ("1677-09-21T00:12:43.145224193", -(2**63) + 1),  # pandas.Timestamp.min
        ("1677-09-21T01:00", pd.Timestamp("1677-09-21T01:00").value),
        ("2262-04-11T23:47:16.854775807", 2**63 - 1),
        ("2262-04-12T00:47:16.854775807+01:00", 2**63 - 1),
    ],
)
def test_the_ends_of_64_bits(cell: str, nanoseconds: int, tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text(f"when\n{cell}\n")
    assert numbers(read(path, "ns")) == [nanoseconds]


def test_the_first_nanosecond_of_an_int96(tmp_path: Path) -> None:
    path = parquet(
        tmp_path / "t.parquet",
        pa.array([-(2**63) + 1], pa.timestamp("ns")),
        use_deprecated_int96_timestamps=True,
    )
    assert numbers(read(path, "ns")) == [-(2**63) + 1]


def test_times_of_day_and_dates_are_no_column(tmp_path: Path) -> None:
    first = parquet(tmp_path / "a.parquet", pa.array([1_700_000_000_000], pa.timestamp("ms")))
    second = parquet(tmp_path / "b.parquet", pa.array([5], pa.time32("s")))
    with pytest.raises(
        errors.SchemaError, match=r'b\.parq.*"when" holds times of a day, but dates in .*a\.par'
    ):
        read([first, second])


def test_parts_counted_otherwise_are_warned_of(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("when\n2024-01-31\n")
    same = ConcatDataset([read(path, "D"), Subset(read(path, "D"), [0])])
    gofast.DataLoader(same)
    with pytest.warns(errors.GofastWarning, match=r"'when': counted in D in one and in h in another"):
        gofast.DataLoader(ConcatDataset([same, read(path, "h")]))


def test_whole_numbers_too_large_for_floats_name_the_file(tmp_path: Path) -> None:
    """Where nobody has asked for floats."""
    path = tmp_path / "t.csv"
    path.write_text("when,x\n2024-01-02T03:04:05.678901234,1.5\n")
    with pytest.raises(errors.BadValueError, match=r"t\.csv: integers up to .* coarser unit in dates="):
        gofast.convert(path, tmp_path / "t.npy", dates={"when": "ns"})
