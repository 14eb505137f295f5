"""Wrong arguments of public functions raise a `ValueError` of one line that names the argument."""

import json
import subprocess
import sys

# In a process of its own, since the tests' type checker would reject most of these first.
RUN = """
import json, sys, warnings
import numpy as np
from fractal import tasks
from fractal.tasks import Batches, Request, from_arrays, fetch, load, names, register
task = from_arrays([[1, 2, 3]] * 20, [0, 1] * 10)
train = task.splits.train
x = [np.ones((4, 2))] * 20
found = []
for call in json.load(sys.stdin):
    try:
        eval(call)
        found.append("nothing")
    except ValueError as error:
        found.append(str(error))
    except BaseException as error:
        found.append(f"{type(error).__name__}: {error}")
print(json.dumps(found))
"""

WRONG = {
    "load(3)": "the name of a task is a string",
    "load(None)": "the name of a task is a string",
    "load('')": "there is no task ''",
    "load('listop')": "did you mean listops?",
    "load('listops', preset='tiny')": "preset must be one of mini, laptop, paper, got 'tiny'",
    "load('listops', preset=None)": "preset must be one of",
    "load('listops', preset=['mini'])": "preset must be one of",
    "load('listops', validation='x')": "validation must be one of held-out, test, got 'x'",
    "load('listops', validation=True)": "validation must be one of",
    "load('listops', preset='mini', validation='test')": "validation: this task has a validation",
    "load('listops', workers=0)": "workers must be an integer of at least 1",
    "load('listops', workers=1.5)": "workers must be an integer",
    "load('listops', workers=True)": "workers must be an integer",
    "load('listops', workers='2')": "workers must be an integer",
    "load('listops', workers=None)": "workers must be an integer",
    "load('listops', workers=10**6)": "workers must be at most",
    "load('listops', data=5)": "data must be a path, got 5",
    "load('listops', data='')": "data must be a path, neither empty",
    "load('listops', data=b'x')": "data must be a path",
    "load('listops', data='a\\0b')": "nor with a null character",
    "load('listops', data='x' * 5000)": "data: cannot read",
    "load('listops', data='/nowhere')": "data: /nowhere is not a folder",
    "load('text', data='/nowhere')": "data: /nowhere is not a folder",
    "load('retrieval', preset='paper')": "the data of task 'retrieval' is missing",
    "Request(preset='x')": "preset must be one of",
    "Request(workers=-1)": "workers must be an integer of at least 1",
    "fetch(3)": "the name of a task is a string",
    "fetch('listops')": "nothing to download for task 'listops'",
    "fetch('text', 'ftp')": "source must be one of auto, official, package, hub, got 'ftp'",
    "fetch('text', None)": "source must be one of",
    "register('', abs)": "name must be a letter followed by",
    "register('a b', abs)": "name must be a letter followed by",
    "register('../x', abs)": "name must be a letter followed by",
    "register(3, abs)": "name must be a letter followed by",
    "register('x', None)": "loader must be a function",
    "register('x', 'abs')": "loader must be a function",
    "register('x', abs, fetcher=3)": "fetcher must be a function",
    "register('text', abs)": "there is already a task 'text'",
    "from_arrays([], [])": "sequences must not be empty",
    "from_arrays(None, [])": "sequences must be a list or an array of sequences",
    "from_arrays(3, [0])": "sequences must be a list or an array of sequences",
    "from_arrays('text', [0])": "sequences must be a list or an array of sequences",
    "from_arrays({}, [0])": "sequences must be a list or an array of sequences",
    "from_arrays(['text'], [0])": "sequences[0] must be integers",
    "from_arrays([None], [0])": "sequences[0] must be integers",
    "from_arrays([[]], [0])": "sequences[0] must be integers",
    "from_arrays([[1, 2], 3], [0, 1])": "sequences[1] must be integers",
    "from_arrays([[[1, 2], [3]]], [0])": "sequences[0] must be an array of numbers",
    "from_arrays([np.ones((2, 2, 2))], [0])": "sequences[0] must be integers",
    "from_arrays([np.ones((2, 2), int)], [0])": "sequences[0] must be integers",
    "from_arrays([np.ones(2, complex)], [0])": "sequences[0] must be integers",
    "from_arrays([[-1]] * 20, [0] * 20)": "sequences[0]: token ids must lie in",
    "from_arrays([[2**40]] * 20, [0] * 20)": "sequences[0]: token ids must lie in",
    "from_arrays([[np.nan]] * 20, [0] * 20)": "sequences[0] must be finite in float32",
    "from_arrays([[1e60]] * 20, [0] * 20)": "sequences[0] must be finite in float32",
    "from_arrays([[1], [1.5]] * 10, [0] * 20)": "sequences: sequence 1 has 1 channels",
    "from_arrays(x[:19] + [np.ones((4, 3))], [0] * 20)": "sequences: sequence 19 has 3 channels",
    "from_arrays(x, None)": "labels must be integers",
    "from_arrays(x, 'ab')": "labels must be integers",
    "from_arrays(x, ['a'] * 20)": "labels must be integers",
    "from_arrays(x, [])": "labels must be",
    "from_arrays(x, [0] * 19)": "labels: 19 labels for 20 sequences",
    "from_arrays(x, [-1] * 20)": "labels: classes must be integers from 0",
    "from_arrays(x, [np.nan] * 20)": "labels must be finite",
    "from_arrays(x, [[0], [0, 1]])": "labels must be an array of numbers",
    "from_arrays(x, np.zeros((20, 2, 2)))": "labels must be floats",
    "from_arrays(x, [0.5] * 20, kind='classification')": "labels must be integers",
    "from_arrays(x, [0] * 20, kind='ranking')": "kind must be one of classification, regression",
    "from_arrays(x, [0] * 20, kind='retrieval')": "sequences[0] must be a pair of sequences",
    "from_arrays(x, [0] * 20, name='')": "name must be a name",
    "from_arrays(x, [0] * 20, seed=-1)": "seed must be an integer of at least 0",
    "from_arrays(x, [0] * 20, seed=1.5)": "seed must be an integer",
    "from_arrays(x, [0] * 20, seed=2**32)": "seed must be at most",
    "from_arrays(x, [0] * 20, length=3)": "length must be at least the longest sequence, 4 steps",
    "from_arrays(x, [0] * 20, length=0)": "length must be an integer of at least 1",
    "from_arrays(x, [0] * 20, inputs=3)": "inputs must equal the number of channels, 2",
    "from_arrays([[5]] * 20, [0] * 20, inputs=3)": "inputs must be an integer of at least 6",
    "from_arrays(x, [3] * 20, outputs=3)": "outputs must be an integer of at least 4",
    "from_arrays(x, [0.5] * 20, outputs=2)": "outputs must equal the number of targets, 1",
    "from_arrays(x, [0] * 20, vocabulary='ab')": "vocabulary must be a list of strings",
    "from_arrays(x, [0] * 20, vocabulary=['a'])": "vocabulary must not be given for real-valued",
    "from_arrays([[5]] * 20, [0] * 20, vocabulary=['a'])": "vocabulary: has 1 tokens, but ids",
    "from_arrays(x, [0] * 20, test=0)": "test must be a share between 0 and 1 or a pair",
    "from_arrays(x, [0] * 20, test=1.5)": "test must be a share",
    "from_arrays(x, [0] * 20, test=None)": "test must be a share",
    "from_arrays(x, [0] * 20, test='x')": "test must be a share",
    "from_arrays(x, [0] * 20, test=0.6, validation=0.5)": "test: the shares",
    "from_arrays(x[:3], [0] * 3)": "3 examples are too few for validation=0.1, test=0.1",
    "from_arrays(x, [0] * 20, test=(x, [0]))": "test[1]: 1 labels for 20 sequences",
    "from_arrays(x, [0] * 20, test=([[1]], [0]))": "test[0]: sequence 0 has token ids",
    "from_arrays(x, [0] * 20, test=(x, [0.5] * 20))": "test[1] must be of the same kind",
    "Batches(None, train, 4, training=True)": "task must be a Task, got NoneType",
    "Batches(task, [1], 4, training=True)": "split must be a Split, got list",
    "Batches(task, train, 0, training=True)": "size must be an integer of at least 1",
    "Batches(task, train, 2.5, training=True)": "size must be an integer",
    "Batches(task, train, 99, training=True)": "a batch of 99 is larger than the data, 16",
    "Batches(task, train, 4, training=True, seed=-1)": "seed must be an integer of at least 0",
    "Batches(task, train, 4, training=True, seed='x')": "seed must be an integer",
    "Batches(task, train, 4, training=True, buckets=0)": (
        "buckets must be an integer of at least 1"
    ),
    "Batches(task, train, 4, training=True, process=1)": "process must be at most 0",
    "Batches(task, train, 4, training=True, processes=3)": "not a multiple of the 3 processes",
    "Batches(task, train, 4, training=True)[-1]": "number must be an integer of at least 0",
    "Batches(task, train, 4, training=True)['x']": "number must be an integer",
    "next(Batches(task, train, 4, training=True).stream(-1))": (
        "start must be an integer of at least 0"
    ),
    "next(Batches(task, train, 4, training=True).stream(ahead=0))": (
        "ahead must be an integer of at least 1"
    ),
}


def test_every_invalid_argument_is_a_value_error_of_one_line():
    done = subprocess.run(
        [sys.executable, "-c", RUN],
        input=json.dumps(list(WRONG)),
        capture_output=True,
        text=True,
        check=True,
    )
    found = dict(zip(WRONG, json.loads(done.stdout), strict=True))
    differing = {call: found[call] for call in WRONG if WRONG[call] not in found[call]}
    assert differing == {}
    assert [call for call, line in found.items() if "\n" in line or len(line) > 250] == []
