import collections

import hypothesis
import hypothesis.strategies as st
import numpy as np

from fractal.tasks._tokens import Characters, count_characters, vocabulary

ANY_TEXT = st.text(st.characters(), max_size=60)  # half surrogates included


@hypothesis.given(st.lists(ANY_TEXT, max_size=5))
def test_characters_are_counted_like_a_plain_counter(texts):
    assert count_characters(texts) == collections.Counter("".join(texts))


@hypothesis.given(ANY_TEXT, st.text("abc", max_size=30), st.integers(1, 20))
def test_text_becomes_ids_and_comes_back_but_for_what_is_unknown_or_cut(text, known, length):
    tokens = vocabulary(count_characters([known]))
    ids = Characters(tokens, length)(text)
    expected = [c if c in known else "<unk>" for c in text[: length - 1]]
    assert [tokens[i] for i in ids] == [*expected, "<eos>"]
    assert len(ids) <= length


def test_ids_are_special_ones_then_by_frequency_then_by_alphabet():
    counts = collections.Counter({"b": 2, "a": 2, "c": 9, "d": 1})
    assert vocabulary(counts, least=2) == ("<pad>", "<unk>", "<eos>", "c", "a", "b")


def test_a_vocabulary_beyond_a_byte_is_stored_in_two():
    tokens = vocabulary(collections.Counter({chr(0x4E00 + i): 1 for i in range(300)}))
    ids = Characters(tokens, 10)("一")
    assert ids.dtype == np.uint16
    assert ids.tolist() == [3, 2]
