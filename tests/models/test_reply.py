"""The body of a server's answer."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turngap.data import Usage
from turngap.models.fault import Transient
from turngap.models.reply import Completion, completion, read_usage, restore, store


@pytest.mark.parametrize(
    "usage", [None, [], "many", {}, {"prompt_tokens": None, "completion_tokens": "5"}, {"prompt_tokens": -1}]
)
def test_usage_that_cannot_be_read_counts_as_not_reported(usage: Any) -> None:
    """No usage never makes an answer unreadable."""
    assert read_usage(usage) == Usage()


def test_a_finish_reason_of_the_wrong_type_is_no_reason() -> None:
    """Odd fields beside the message do not cost the answer."""
    found = completion(b'{"choices": [{"message": {"content": "a"}, "finish_reason": 5}], "usage": 7}', 0.5, 1, "here")
    assert (found.message, found.finish_reason, found.usage) == ({"content": "a"}, None, Usage())


@given(st.binary(max_size=60))
def test_rubbish_is_transient(data: bytes) -> None:
    """Whatever bytes come, either a message is read or the request is worth repeating."""
    with pytest.raises(Transient):
        completion(b'{"choices": [{"message": ' + data, 0.1, 1, "here")


@given(
    st.dictionaries(st.text(st.characters(exclude_categories=("Cs",))), st.integers() | st.booleans()),
    st.floats(0, 1e6),
)
def test_what_is_stored_is_restored(message: dict[str, Any], seconds: float) -> None:
    """The cache gives back the answer, byte for byte, marked as cached."""
    raw = json.dumps(message, indent=1).encode()
    stored = store(
        Completion(message=message, raw=raw, finish_reason="stop", usage=Usage(prompt_tokens=3), seconds=seconds)
    )
    assert restore(stored) == Completion(
        message=message,
        raw=raw,
        finish_reason="stop",
        usage=Usage(prompt_tokens=3),
        seconds=seconds,
        attempts=0,
        cached=True,
    )
