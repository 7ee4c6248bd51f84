"""What training and evaluation texts share."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from turngap.metrics.contamination import COMMON, LENGTH, Document, contamination, duplicates, entities

POLICY = "You work for a boat hire. Look a booking up before you change it. Ask for a yes before you move it, please."


def document(name: str, text: str) -> Document:
    """A document."""
    return Document(id=name, text=text)


def test_a_copied_task_is_found_by_its_id_and_by_its_words() -> None:
    """SYN-02: an evaluation task among the training tasks is flagged, with its id and its text."""
    task = document("7", "You want to move booking BK-1042 to the second of May because the weather is bad today.")
    found = contamination([task, document("8", "Something else.")], [task])
    assert {match.kind for match in found.matches} == {"id", "copy"}
    assert found.flagged == 1
    assert not found.clean
    assert "weather is bad" in next(match.shown for match in found.matches if match.kind == "copy")


def test_policy_and_tools_that_both_share_flag_nothing() -> None:
    """SYN-02: documents that share only the policy and the tool specifications are clean."""
    learnt = [document(f"a{n}", f"{POLICY} I would like boat {word}.") for n, word in enumerate(("red", "blue"))]
    tested = [document("b", f"{POLICY} My captain is ill and we cannot sail at all this week, sadly.")]
    assert contamination(learnt, tested).flagged == 1
    assert contamination(learnt, tested, common=[POLICY]).clean


def test_phrases_of_a_template_flag_nothing() -> None:
    """SYN-02: a sentence that several tested documents have is a phrase, not a copy."""
    phrase = "Hello there, I am writing to you since I would like to change something about a booking of mine."
    tested = [document(f"t{n}", f"{phrase} It is about {word}.") for n, word in enumerate("abcd"[:COMMON])]
    assert contamination([document("x", f"{phrase} And another thing.")], tested).clean


def test_a_near_copy_names_its_share_and_the_stretch() -> None:
    """Half of a document inside another one flags it; less does not."""
    words = [f"word{letter}" for letter in "abcdefghijklmnopqrstuvwx"]
    tested = [document("t", " ".join(words))]
    near = contamination([document("l", " ".join([*words[:18], "end"]))], tested)
    (match,) = near.matches
    assert match.kind == "near"
    assert match.share == (18 - LENGTH + 1) / (len(words) - LENGTH + 1)
    assert match.shown == " ".join(words[:18])
    assert not contamination([document("l", " ".join(words[:10]))], tested).matches


def test_values_that_stand_for_something_are_entities_however_short() -> None:
    """SYN-02: BK-1 and room 102 are too short to be told from words in a text, so the document names them."""
    learnt = [Document(id="a", text="Move it to Monday.", values=("BK-1", "102"))]
    tested = [Document(id="b", text="Cancel bk-1, room 102.", values=("bk-1", "103"))]
    assert contamination(learnt, tested).entities == {"bk-1": 1}
    assert contamination(learnt, [document("c", "Cancel BK-1, room 102.")]).clean


def test_entities_are_addresses_and_ids() -> None:
    """Order numbers and e-mail addresses count, plain words, short numbers and postal codes do not."""
    text = "I am Mia (mia.lee@example.com), zip 80279, order #W1234567 and #12345, item 123456, 2 of 12 boats, HAT07."
    assert entities(text) == {"mia.lee@example.com", "#w1234567", "#12345", "123456", "hat07"}
    found = contamination([document("a", "order #W1234567")], [document("b", "about #w1234567"), document("c", "no")])
    assert found.entities == {"#w1234567": 1}
    assert not found.matches


def test_tasks_that_differ_in_names_and_ids_only_are_duplicates() -> None:
    """SYN-01: what is the same after ids are replaced is counted as a near duplicate of the first."""
    found = duplicates(
        [
            document("a", "Cancel order #W1234567."),
            document("b", "Cancel order #W7654321!"),
            document("c", "Return it."),
        ]
    )
    assert [(match.tested, match.learnt) for match in found] == [("b", "a")]


@given(st.lists(st.text(alphabet="abc ", min_size=1, max_size=60), min_size=1, max_size=6))
def test_a_set_held_against_itself_is_flagged_wholly(texts: list[str]) -> None:
    """Every document is found in its own set, and nothing is found in an empty one."""
    documents = [document(str(number), text) for number, text in enumerate(texts)]
    assert contamination(documents, documents).flagged == len(documents)
    assert contamination([], documents).clean
