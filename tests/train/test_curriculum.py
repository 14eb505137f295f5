import contextlib
import dataclasses
import itertools

import numpy as np
import pytest

from fractal import tasks
from fractal.tasks import Batches, pathfinder
from fractal.train import Config, DataConfig, ModelConfig, train
from fractal.train._curriculum import Curriculum, check_stage


def constant_task(value, length=3, name="arrays"):
    return tasks.from_arrays(
        [np.full(length, value)] * 20, np.arange(20) % 2, name=name, inputs=9, length=length
    )


def batches_of(value):
    task = constant_task(value)
    return Batches(task, task.splits.train, 4, training=True)


def test_easier_tasks_come_first_for_a_share_of_the_steps_each():
    made = Curriculum([batches_of(1), batches_of(2)], batches_of(3), steps=20)
    with contextlib.closing(made.stream()) as stream:
        seen = [int(batch.inputs[0, 0]) for batch in itertools.islice(stream, 20)]
    assert seen == [1] * 3 + [2] * 3 + [3] * 14  # 30 % of the steps are easier


@pytest.mark.parametrize("start", [1, 3, 5, 6, 11])
def test_resuming_in_any_stage_gives_the_same_batches(start):
    made = Curriculum([batches_of(1), batches_of(2)], batches_of(3), steps=20)
    with contextlib.closing(made.stream()) as stream:
        whole = list(itertools.islice(stream, 14))
    with contextlib.closing(made.stream(start)) as stream:
        resumed = list(itertools.islice(stream, 14 - start))
    for one, other in zip(whole[start:], resumed, strict=True):
        for a, b in zip(one, other, strict=True):
            np.testing.assert_array_equal(a, b)


def test_a_task_of_other_shapes_is_no_stage():
    with pytest.raises(ValueError, match=r"data.curriculum: short has length 2, and long 3: they"):
        check_stage(constant_task(1, 2, "short"), constant_task(1, 3, "long"))


def test_the_stages_of_pathfinder_differ_in_their_contours_only(tmp_path, monkeypatch):
    monkeypatch.setenv("FRACTAL_DATA", str(tmp_path))
    for sizes in (pathfinder.PATHFINDER, *pathfinder.STAGES.values()):
        monkeypatch.setitem(sizes, "laptop", sizes["laptop"]._replace(examples=20))
    loaded = {
        name: tasks.load(name, preset="laptop") for name in ("pathfinder", *pathfinder.STAGES)
    }
    lit = []
    for task in loaded.values():
        check_stage(task, loaded["pathfinder"])
        lit.append(np.mean([task.splits.train.documents(i)[0].mean() for i in range(16)]))
    assert lit[0] > lit[2] > lit[1]  # 14, 9 and 6 paddles per contour
    config = Config(
        DataConfig("pathfinder", preset="laptop", batch=4, curriculum=("pathfinder_6",)),
        model=ModelConfig(width=4, depth=1, options={"order": 2}),
    )
    config = dataclasses.replace(
        config, steps=4, optimizer=dataclasses.replace(config.optimizer, warmup=0)
    )
    result = train(config, tmp_path / "run")
    assert result["steps"] == 4


def test_the_stages_of_official_data_are_not_taken_from_another_level(tmp_path):
    (tmp_path / "metadata").mkdir()
    with pytest.raises(ValueError, match=r"contains no pathfinder32/curv_baseline/metadata"):
        tasks.load("pathfinder_6", preset="paper", data=tmp_path)
    with pytest.raises(ValueError, match="generate"):
        tasks.load("pathfinder_9", preset="paper")
