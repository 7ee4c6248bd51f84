"""Chat templates: what they drop is found out, what they lose is replaced, and no clock is in them."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import msgspec
import pytest
from tinytokens import family, marked, templated_with

from turngap.data import AssistantMessage, Conversation, ToolCall, ToolMessage, UserMessage
from turngap.errors import ConfigError
from turngap.models.templating import Dropped, Manner, Templated, dropped, fitted
from turngap.models.turns import CHATML, GEMMA, Turns

_PLAIN = "{% for m in messages %}<|im_start|>{{ m['role'] }}\n{{ m['content'] or '' }}<|im_end|>\n{% endfor %}"
_PLAIN += "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"


def test_what_a_template_drops_is_said() -> None:
    """A template with no place for tools loses tools, calls and arguments, and says nothing; we do."""
    found = dropped(Templated(templated_with(_PLAIN)))
    assert found.parts == ("tools", "calls", "arguments", "text beside calls", "several calls")
    assert found.refuses == () and not found.dated
    assert found.sentence() == (
        "the chat template silently drops tools, calls, arguments, text beside calls, several calls"
    )
    assert dropped(Templated(templated_with(_PLAIN), Manner(thinking=True))).parts[3] == "reasoning"


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("ours", Dropped()),
        ("qwen3", Dropped()),
        ("llama3_1", Dropped(parts=("text beside calls",), refuses=("several calls",), dated=True)),
        ("llama3_2", Dropped(parts=("text beside calls",), refuses=("several calls",), dated=True)),
        (
            "gemma3",
            Dropped(
                parts=("tools",),
                refuses=("calls and results", "text beside calls", "several calls", "instructions between turns"),
            ),
        ),
    ],
)
def test_what_the_families_drop(name: str, wanted: Dropped) -> None:
    """What the templates of the families lose, one by one."""
    assert dropped(Templated(family(name))) == wanted


def test_calls_that_are_missing_are_not_hidden_by_the_list_of_tools() -> None:
    """A template that lists tools and drops calls is found out."""
    lists = "{% for t in tools or [] %}{{ t | tojson }}{% endfor %}" + _PLAIN
    assert "calls" in dropped(Templated(templated_with(lists))).parts


@pytest.mark.parametrize(
    ("name", "ours", "folded"),
    [
        ("ours", False, False),
        ("qwen3", False, False),
        ("llama3_1", False, False),
        ("gemma3", False, True),
        ("llama3", False, True),
    ],
)
def test_each_family_gets_what_keeps_its_tools(name: str, ours: bool, folded: bool) -> None:
    """A template that has room for tools is kept; of the others only user and assistant turns are asked, and it is said."""
    templated, said = fitted(family(name))
    assert (templated.manner.template is not None, templated.manner.fold_roles) == (ours, folded)
    assert ("only user and assistant turns" in said) is folded
    assert not dropped(templated).essential


def test_chatml_without_tools_gets_ours() -> None:
    """A ChatML model whose template drops tools gets turngap's, and the person is told; without any template too."""
    templated, said = fitted(templated_with(_PLAIN))
    assert templated.template == CHATML.source() and said.endswith("turngap's own is used")
    bare = templated_with(_PLAIN)
    bare.chat_template = None
    assert fitted(bare)[0].template == CHATML.source()
    with pytest.raises(ConfigError, match="--template"):
        Templated(bare)


def test_a_template_that_is_named_is_kept(boat_conversation: Conversation) -> None:
    """What the person names is never replaced; what it drops is said, and tools stand in the first turn instead."""
    templated, said = fitted(family("qwen3"), Manner(template=_PLAIN))
    assert templated.template == _PLAIN and "silently drops tools" in said
    prompt = templated.prompt("", boat_conversation.tools, boat_conversation.messages[:1])
    assert "get_booking" in prompt and "<|im_start|>system" not in prompt


def test_ours_with_and_without_thoughts_are_the_same(boat_conversation: Conversation) -> None:
    """The two forms of our template differ in nothing but thoughts."""
    tokenizer = family("ours")
    assert CHATML.thinking is not None
    plain, thinking = (
        Templated(tokenizer, Manner(template=path.read_text(encoding="utf-8")))
        for path in (CHATML.template, CHATML.thinking)
    )
    for at in range(1, len(boat_conversation.messages) + 1):
        asked = (boat_conversation.policy, boat_conversation.tools, boat_conversation.messages[:at])
        assert plain.prompt(*asked) == thinking.prompt(*asked)
    fits, _ = fitted(tokenizer, Manner(thinking=True))
    assert fits.template == thinking.template
    decision = AssistantMessage(content="Yes.", reasoning="Why not?")
    assert (
        fits.answer("", (), [UserMessage(content="Hi.")], decision) == "<think>\nWhy not?\n</think>\n\nYes.<|im_end|>\n"
    )


def test_gemma_without_a_template_gets_ours() -> None:
    """A vocabulary with Gemma's marks and no template gets ours for them, which loses nothing; thoughts have no place."""
    bare = _gemma()
    templated, said = fitted(bare)
    assert templated.template == GEMMA.source() and said.endswith("turngap's own is used")
    assert dropped(templated) == Dropped()
    with pytest.raises(ConfigError, match="--template"):
        fitted(bare, Manner(thinking=True))


def test_line_ends_are_no_marks_though_the_vocabulary_holds_them_apart() -> None:
    """Gemma's vocabulary holds line ends as it holds marks: an answer goes on behind them and ends at the mark."""
    tokenizer = _gemma()
    tokenizer.add_tokens(["\n", "\n\n"])
    templated, _ = fitted(tokenizer)
    (line,), (begin,), (end,) = (templated.tokens(text) for text in ("\n", GEMMA.begin, GEMMA.end))
    assert not templated.is_mark(line)
    assert templated.turn_marks() == {end}
    assert {begin, end, tokenizer.eos_token_id} <= templated.stops() and line not in templated.stops()


def _gemma() -> Any:
    """A tokenizer with Gemma's marks and no template."""
    tokenizer = family("gemma3")
    tokenizer.chat_template = None
    return tokenizer


@pytest.mark.parametrize(("name", "turns"), [("ours", CHATML), ("gemma3", GEMMA)])
def test_ours_writes_every_message_by_itself(name: str, turns: Turns, boat_conversation: Conversation) -> None:
    """The text of a history is a prefix of that of every longer one, so that caches stay valid, whoever speaks first."""
    templated = Templated(family(name), Manner(template=turns.source()))
    for first in (0, 1):
        messages = boat_conversation.messages[first:]
        texts = [
            templated.whole(boat_conversation.policy, boat_conversation.tools, messages[:at])
            for at in range(1, len(messages) + 1)
        ]
        assert all(longer.startswith(shorter) for shorter, longer in pairwise(texts))


def test_gemma_has_policy_and_tools_in_the_first_turn(boat_conversation: Conversation) -> None:
    """There is no turn of the system: what it would say stands before what the user says first, or alone."""
    templated = Templated(family("gemma3"), Manner(template=GEMMA.source()))
    asked = (UserMessage(content="Hi."),)
    begun = "<bos><start_of_turn>user\n"
    assert templated.prompt("", (), asked) == f"{begun}Hi.<end_of_turn>\n<start_of_turn>model\n"
    assert templated.prompt("Be kind.", (), asked) == f"{begun}Be kind.\n\nHi.<end_of_turn>\n<start_of_turn>model\n"
    assert templated.prompt("Be kind.", (), ()) == f"{begun}Be kind.<end_of_turn>\n<start_of_turn>model\n"
    with_tools = templated.prompt("", boat_conversation.tools, asked)
    assert with_tools.startswith(f"{begun}You can use these tools.")
    assert with_tools.endswith("in plain words.\n\nHi.<end_of_turn>\n<start_of_turn>model\n")


def test_sft_09_a_clock_is_stopped() -> None:
    """SFT-09: templates that ask for the day get the run's, in whatever form; the text around is as it was."""
    source = "\n{{ strftime_now('%d %b %Y, %A %-d.%-m.') }}|{{ strftime_now is defined }}{% for m in messages %}{{ m['content'] }}{% endfor %}"
    templated = Templated(templated_with(source), Manner(today="2031-05-01"))
    assert templated.prompt("", (), [UserMessage(content="Hi.")]) == "\n01 May 2031, Thursday 1.5.|TrueHi."
    assert templated.template == source
    assert dropped(templated).dated
    with pytest.raises(ConfigError, match="2031-05-01"):
        Templated(templated_with(source), Manner(today="yesterday"))


def test_marks_are_known() -> None:
    """A mark of turns is told from a token of text."""
    tokenizer = marked(("<|endoftext|>", "<|im_start|>", "<|im_end|>"), None, "<|im_end|>")
    tokenizer.chat_template = _PLAIN
    templated = Templated(tokenizer)
    (mark,) = templated.tokens("<|im_end|>")
    assert templated.is_mark(mark) and not any(map(templated.is_mark, templated.tokens("the end")))
    assert templated.text(templated.tokens("one <|im_end|> two")) == "one <|im_end|> two"


def test_arguments_as_text_for_templates_that_want_it(boat_conversation: Conversation) -> None:
    """With `arguments = string` the template gets JSON text, as servers send it; else an object."""
    source = "{% for m in messages %}{% for c in m['tool_calls'] or [] %}{{ c['function']['arguments'] is string }}{% endfor %}{% endfor %}"
    messages = boat_conversation.messages[:3]
    for form, wanted in (("string", "True"), ("object", "False")):
        templated = Templated(templated_with(source), msgspec.structs.replace(Manner(), arguments=form))
        assert templated.prompt("", boat_conversation.tools, messages) == wanted


def test_malformed_calls_of_a_history_are_rendered_as_they_were() -> None:
    """A history may hold a call whose arguments are no JSON; it stands there as it was made."""
    templated, _ = fitted(family("ours"))
    broken = AssistantMessage(calls=(ToolCall(name="look", arguments=None, raw="{oops", error="no JSON"),))
    text = templated.prompt("", (), [UserMessage(content="Hi."), broken, ToolMessage(content="what?", name="look")])
    assert "{oops" in text and "what?" in text
