"""Errors say where and what in one line, and travel between processes."""

from __future__ import annotations

import pickle

import pytest

from turngap import errors


def test_a_data_error_names_file_line_and_field() -> None:
    """One line, also when the problem text has several."""
    error = errors.DataError("not\n JSON", file="a.jsonl", line=4, field="messages[2].role")
    assert str(error) == "a.jsonl:4: messages[2].role: not JSON"
    assert error.exit_code == 2


@pytest.mark.parametrize(
    "kind", [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, errors.TurngapError)]
)
def test_every_error_pickles(kind: type[errors.TurngapError]) -> None:
    """A remote worker can raise it."""
    error = kind("what is wrong")
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is kind
    assert str(copy) == str(error)


def test_a_data_error_keeps_its_fields_through_pickling() -> None:
    """File, line and field survive."""
    error = pickle.loads(pickle.dumps(errors.DataError("p", file="f", line=3, field="x")))
    assert (error.problem, error.file, error.line, error.field) == ("p", "f", 3, "x")
