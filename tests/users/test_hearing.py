"""What a scripted user hears in an agent's words."""

from __future__ import annotations

import pytest

from turngap.data import AssistantMessage, ToolCall, ToolMessage, UserMessage
from turngap.data.asking import ANYTHING_ELSE, GO_AHEAD, HANDED_OVER, question
from turngap.users.hearing import hear, last_words


@pytest.mark.parametrize(
    "text",
    [
        f"I will move BK-1042. {GO_AHEAD}",
        "Shall I move it to 2 May?",
        "Here are the details. Do you confirm (yes/no)?",
        "Would you like me to proceed?",
        "Please reply 'yes' to confirm.",
        "Is that correct?",
    ],
)
def test_questions_for_a_yes(text: str) -> None:
    """The usual ways to ask for a yes are heard as that, and as nothing else."""
    heard = hear(text)
    assert heard.asks_yes
    assert not heard.asks
    assert not heard.closes


@pytest.mark.parametrize(
    "text", [question(["email"]), "Could you confirm your zip code?", "Please provide your order number.", "Which one?"]
)
def test_questions_for_facts(text: str) -> None:
    """A question for something is no question for a yes."""
    heard = hear(text)
    assert heard.asks
    assert not heard.asks_yes


@pytest.mark.parametrize(
    "text", [ANYTHING_ELSE, "Can I assist you further?", "Have a great day!", "Goodbye.", "You're all set."]
)
def test_closings(text: str) -> None:
    """Asking for further wishes, or a good-bye, is no question for facts or for a yes."""
    heard = hear(text)
    assert heard.closes
    assert not heard.asks
    assert not heard.asks_yes


@pytest.mark.parametrize(
    ("text", "handed_over"),
    [
        (HANDED_OVER, True),
        ("YOU ARE BEING TRANSFERRED TO A HUMAN AGENT. PLEASE HOLD ON.", True),
        ("I'm now transferring you to a colleague.", True),
        ("Would you like to be transferred to a human agent?", False),
        ("I can transfer you to a human agent if you like.", False),
    ],
)
def test_handing_over(text: str, handed_over: bool) -> None:
    """Being handed over is heard when it happens, not when it is offered."""
    assert hear(text).handed_over is handed_over


def test_refusals_and_reports() -> None:
    """What cannot be done, and what was done."""
    assert hear("I am sorry, this booking cannot be moved.").refuses
    assert not hear("Can't you find the code?").refuses
    assert hear("Your booking has been moved to 2 May.").reports
    assert not hear("Your booking cannot be moved.").reports


def test_only_words_since_the_user_spoke_are_heard() -> None:
    """Calls, the text beside them, and what came before the user's last message are not."""
    history = [
        AssistantMessage(content="Shall I?"),
        UserMessage(content="Yes."),
        AssistantMessage(content="One moment.", calls=(ToolCall(name="move", arguments={}),)),
        ToolMessage(content="{}", name="move"),
        AssistantMessage(content="Done."),
    ]
    assert last_words(history) == "Done."
    assert last_words(history[:2]) == ""
