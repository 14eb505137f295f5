"""Cases of files for a model: labels, channels and times as in its training set."""

import dataclasses

import numpy as np
import pytest

from fractal._errors import UserError
from fractal._series.content import TrainedOn
from fractal._series.read import read_cases

MODEL = TrainedOn(3, frozenset("uv"), "label", ("x", "y"))
LONG = "id,time,x,y,label\nA,0,1,2,u\nA,1,3,4,u\nB,0,5,6,v\nB,1,7,8,v\n"


def for_model(path, model=MODEL):
    return read_cases(path, trained=model, labeled=False)


def test_channels_are_matched_by_name(write):
    swapped = "id,time,y,note,x\nA,0,2,b,1\nA,1,4,b,3\nB,0,6,b,5\nB,1,8,b,7\n"
    ours, theirs = for_model(write("s.csv", swapped)), read_cases(write("t.csv", LONG))
    assert ours.channels == theirs.channels == ["x", "y"]
    np.testing.assert_array_equal(ours.series, theirs.series)
    with pytest.raises(UserError, match="has no column 'y'; the channels of the training set are"):
        for_model(write("u.csv", swapped.replace("y,", "w,")))
    unnamed = MODEL._replace(channels=("channel 1", "channel 2"))
    assert for_model(write("s.csv", LONG), unnamed).channels == ["x", "y"]


def test_columns_of_ids_and_times_are_those_of_the_training_set(write):
    text = LONG.replace("id,time", "subject,seconds").replace(",1,", ",2,")
    trained = MODEL._replace(identity="subject", time="seconds")
    found = for_model(write("s.csv", text), trained)
    assert (found.ids, found.channels, found.interval) == (["A", "B"], ["x", "y"], 2)


@pytest.mark.parametrize("name", ["none", "NA", "null", "nan"])
def test_a_class_may_have_the_name_of_a_missing_value(write, name):
    assert read_cases(write("n.csv", f"a,label\n1,{name}\n2,b\n")).labels == [name, "b"]
    ts = f"@timeStamps false\n@classLabel true {name} b\n@data\n1,2:{name}\n3,4:b\n"
    assert read_cases(write("n.ts", ts)).labels == [name, "b"]


def test_a_missing_number_is_no_class(write):
    for cell in ("NA", "", "?"):
        with pytest.raises(UserError, match=r"line 2, column 'label': has no label"):
            read_cases(write("n.csv", f"a,label\n1,{cell}\n2,1.5\n"))


def test_labels_are_not_needed_for_predictions(write, tmp_path):
    wide = write("w.csv", "label,a,b\n,1,2\n,3,4\n")
    ts = write("t.ts", "@timeStamps false\n@classLabel true u v\n@data\n1,2:?\n3,4:?\n")
    arrays = tmp_path / "n.npz"
    np.savez(arrays, X=[[1.0, 2], [3, 4]], y=[np.nan, np.nan])
    long = write("l.csv", LONG.replace("u\n", "\n").replace("v\n", "\n"))
    for path in (wide, ts, arrays, long):
        assert for_model(path).labels is None
        with pytest.raises(UserError, match="has no label"):
            read_cases(path)
    np.testing.assert_array_equal(np.concatenate(for_model(wide).series), [[1, 2], [3, 4]])
    assert for_model(write("w.csv", "label,a,b\nu,1,2\n,3,4\n")).labels == ["u", ""]


def test_text_other_than_the_label_is_left_out_of_wide_tables(write):
    found = for_model(write("f.csv", "file,a,b,c\np.wav,1,2,3\nq.wav,4,5,6\n"))
    assert found.labels is None
    assert "no label, without the text in 'file'" in found.summary
    named = for_model(write("g.csv", "quality,a,b\n0.5,2,3\n0.25,5,6\n"), MODEL._replace(target="quality"))  # fmt: skip # noqa: E501
    assert (named.labels, named.series[0].tolist()) == (["0.5", "0.25"], [[2, 3]])


def test_numbers_as_classes_have_one_name(write, tmp_path):
    for cell in ("1", "1.0", "1e0", "1.0000000e+00"):
        assert read_cases(write("n.csv", f"{cell},0.5\n2,0.5\n")).labels == ["1", "2"]
    np.savez(tmp_path / "n.npz", X=[[0.5], [0.5]], y=[1.0, 2.0])
    assert read_cases(tmp_path / "n.npz").labels == ["1", "2"]
    assert read_cases(write("z.csv", "01,0.5\n02,0.5\n")).labels == ["01", "02"]


def test_infinite_values_and_invalid_times_are_named_by_file_and_case(write, tmp_path):
    ts = write("t.ts", "@timeStamps false\n@classLabel true u\n@data\n1,2:u\n3,inf:u\n")
    with pytest.raises(UserError, match=r"t.ts, line 5, channel 1, value 2: 'inf' is not finite"):
        read_cases(ts)
    X, path = np.ones((2, 3)), tmp_path / "n.npz"
    np.savez(path, X=np.where([[0], [1]], np.inf, X), y=[0, 1])
    with pytest.raises(UserError, match=r"n.npz, case 2: X is not finite"):
        read_cases(path)
    np.savez(path, X=X, y=[0, 1], times=[[0, 1, 2], [0, 1, 1]])
    with pytest.raises(UserError, match=r"n.npz, case 2: times must be finite and increase"):
        read_cases(path)


def test_the_interval_of_regular_samples_is_kept(write, tmp_path):
    dates = LONG.replace("A,", "A,2024-01-0").replace("B,", "B,2024-01-0")
    dates = dates.replace("01-00", "01-02").replace("01-01,", "01-03,")
    hours = read_cases(write("h.csv", LONG.replace("A,1,", "A,0.5,").replace("B,1,", "B,0.5,")))
    assert (hours.times, hours.interval, hours.dated) == (None, 0.5, False)
    np.savez(tmp_path / "n.npz", X=np.ones((2, 3)), y=[0, 1], times=[[0, 2, 4], [1, 3, 5]])
    assert read_cases(tmp_path / "n.npz").interval == 2
    fast = "id,time,x,label\n" + "".join(f"A,{1.7e9 + i / 1000:.3f},1,u\n" for i in range(500))
    found = read_cases(write("f.csv", fast))
    assert found.times is None
    assert found.interval == pytest.approx(0.001, rel=1e-6)
    assert dataclasses.replace(found, times=[np.array([0.0, 1, 3, 4])]).unit() == 1
    days = read_cases(write("d.csv", dates))
    assert (days.times, days.interval, days.dated) == (None, 86400, True)
