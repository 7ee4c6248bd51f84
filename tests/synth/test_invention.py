"""Values that people make up."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from explorers import shop

from turngap.errors import DataError
from turngap.synth.invention import Inventor, is_date, shifted

ADDRESS = ("address1", "address2", "city", "state", "country", "zip")
CONTENT = shop().world().content()


def _places() -> set[tuple[str, str, str]]:
    people, orders = CONTENT["users"].values(), CONTENT["orders"].values()
    addresses = [record["address"] for record in (*people, *orders)]
    return {(one["city"], one["state"], one["zip"]) for one in addresses}


def test_addresses_look_real_and_are_nobodys() -> None:
    """City, state and postal code belong together as in the database; the street address is in no record."""
    inventor = Inventor(CONTENT)
    taken = {one["address"]["address1"] for one in (*CONTENT["users"].values(), *CONTENT["orders"].values())}
    rng = random.Random(2)
    made = [inventor.bundle(ADDRESS, rng) for _ in range(60)]
    for one in made:
        assert one is not None
        assert (one["city"], one["state"], one["zip"]) in _places()
        assert one["address1"] not in taken
        assert one["address1"].split()[0].isdigit()
    assert len({one["address1"] for one in made if one}) == 60


def test_people_are_put_together_anew() -> None:
    """A made-up passenger has names that occur and a date, and is nobody on record."""
    records = [
        {"first_name": first, "last_name": last, "dob": dob}
        for first, last, dob in (
            ("Ada", "Vega", "1980-01-02"),
            ("Noor", "Lind", "1991-10-03"),
            ("Ivo", "Kay", "1970-05-06"),
        )
    ]
    inventor = Inventor({"passengers": {str(index): one for index, one in enumerate(records)}})
    rng = random.Random(0)
    for _ in range(20):
        made = inventor.bundle(("first_name", "last_name", "dob"), rng)
        assert made is not None
        assert made not in records
        assert is_date(made["dob"])


def test_fields_that_no_record_has_are_not_made_up() -> None:
    """Without a model there is nothing to go by."""
    assert Inventor(CONTENT).bundle(("width", "height"), random.Random(0)) is None


def test_texts_come_from_phrases_by_the_last_word_that_is_known() -> None:
    """An issue summary is a summary; a text of an unknown kind is not made up."""
    inventor = Inventor({})
    assert inventor.text("issue_summary", random.Random(0))
    assert inventor.text("frequency", random.Random(0)) is None


def test_phrases_can_be_replaced(tmp_path: Path) -> None:
    """A file of one's own takes the place of the package's, together with what belongs together."""
    path = tmp_path / "phrases.toml"
    path.write_text('[texts]\nnote = ["Ahoy."]\n[[together]]\ntitle = "Paint"\ndescription = "Both hulls."\n')
    inventor = Inventor({}, path)
    assert inventor.text("note", random.Random(0)) == "Ahoy."
    assert inventor.bundle(("title", "description"), random.Random(0)) == {
        "title": "Paint",
        "description": "Both hulls.",
    }
    assert inventor.digest != Inventor({}).digest


@pytest.mark.parametrize(
    ("text", "problem"), [("[texts]\nnote = []", "texts.note"), ("note = [", "not TOML"), (None, "cannot be read")]
)
def test_a_bad_file_of_phrases_is_refused_by_name(tmp_path: Path, text: str | None, problem: str) -> None:
    """Who writes phrases is told what is wrong with them, and where."""
    path = tmp_path / "phrases.toml"
    if text is not None:
        path.write_text(text)
    with pytest.raises(DataError, match=problem):
        Inventor({}, path)


def test_dates_move_and_keep_their_writing() -> None:
    """Days are added across months; what is no date stays out."""
    assert shifted("2031-04-30", 2) == "2031-05-02"
    assert shifted("2031-04-30T10:00", -30) == "2031-03-31T10:00"
    assert shifted("next Monday", 1) is None
    assert not is_date("2031-13-01")
