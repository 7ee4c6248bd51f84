"""New tokenizers: what they are trained on, and what they do with ids, marks and anything else."""

from __future__ import annotations

from typing import Any

import pytest
import tinymodel
from hypothesis import given, settings
from hypothesis import strategies as st

from turngap.training.vocabulary import MARKS, byte_level_tokenizer, texts_of


@pytest.fixture(autouse=True, scope="module")
def _torch() -> None:
    tinymodel.require()


def test_policy_and_tools_are_learnt_once() -> None:
    """Two conversations at one desk: its policy and tools stand once in the texts, every message and call as often as it is."""
    texts = list(texts_of([tinymodel.talk(1), tinymodel.talk(2)]))
    assert texts.count(tinymodel.talk(1).policy) == 1
    assert sum("parameters" in text for text in texts) == 2
    assert texts.count("Yes.") == 2
    assert sum('"move_booking"' in text and '"day"' in text and "parameters" not in text for text in texts) == 2


def test_digits_and_marks_stand_alone() -> None:
    """An id can be copied digit by digit, whatever ids were seen; a mark is one token."""
    made = byte_level_tokenizer(["BK-1042 BK-1042 BK-1042 1042"] * 50, 400)
    assert [made.decode([token]) for token in made.encode("1042", add_special_tokens=False)] == ["1", "0", "4", "2"]
    for mark in MARKS:
        assert len(made.encode(mark, add_special_tokens=False)) == 1
    assert (made.eos_token, made.pad_token) == ("<|im_end|>", "<|endoftext|>")


@settings(max_examples=50)
@given(st.text())
def test_every_text_comes_back(text: str) -> None:
    """Whatever it was trained on, no text is lost, and none becomes a mark."""
    made = _TOKENIZER.get("one") or _TOKENIZER.setdefault("one", byte_level_tokenizer(["Hello there."], 300))
    clean = text.encode("utf-8", "ignore").decode()
    tokens = made.encode(clean, add_special_tokens=False)
    assert made.decode(tokens, clean_up_tokenization_spaces=False) == clean


_TOKENIZER: dict[str, Any] = {}
