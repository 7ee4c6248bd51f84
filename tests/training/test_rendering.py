"""Tokens and masks: exactly the decision and its end are learnt, in every template, or the example is refused.

Tokenizers are trained on the spot with the marks of the families; their chat templates are those that come with trl.
"""

from __future__ import annotations

from datetime import date
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from tinytokens import family, templated_with, trl_template
from trainingsets import conversations

from turngap.data import AssistantMessage, Conversation, Message, ToolCall, ToolMessage, UserMessage
from turngap.models import dialects
from turngap.models.base import Request, Seat
from turngap.models.reading import ToolView, read
from turngap.models.templating import Manner, Templated, fitted
from turngap.models.turns import CHATML
from turngap.models.wire import Wire
from turngap.training.example import Example
from turngap.training.making import Options, make, with_single_calls
from turngap.training.rendering import Refused, Rendered, Renderer

_ENDS = {"ours": "<|im_end|>", "qwen3": "<|im_end|>", "gemma3": "<end_of_turn>", "llama3_1": "<|eot_id|>"}
_ENDS |= {"llama3_2": "<|eot_id|>", "llama3": "<|eot_id|>"}
_BEGINS = {"ours": "<|im_start|>assistant\n", "gemma3": "<start_of_turn>model\n"}
_THOUGHT = "I look before I leap."


def _examples(conversation: Conversation, *, thought: str = "") -> tuple[Example, ...]:
    if thought:
        messages = tuple(
            msgspec.structs.replace(one, reasoning=thought) if isinstance(one, AssistantMessage) else one
            for one in conversation.messages
        )
        conversation = msgspec.structs.replace(conversation, messages=messages)
    return make([conversation], Options(validation=0, reasoning=True)).train


def _learnt(templated: Templated, rendered: Rendered) -> list[str]:
    """The learnt stretches as text."""
    stretches: list[list[int]] = []
    for at, (token, mark) in enumerate(zip(rendered.tokens, rendered.learnt, strict=True)):
        if mark and not (at and rendered.learnt[at - 1]):
            stretches.append([])
        if mark:
            stretches[-1].append(token)
    return [templated.text(one) for one in stretches]


def _rendered(found: Rendered | Refused) -> Rendered:
    assert isinstance(found, Rendered), str(found)
    return found


def _spelt(name: str, decision: AssistantMessage) -> str:
    """What the decision looks like in a family's template, written down by hand."""
    if not decision.calls:
        return decision.content
    call = decision.calls[0]
    arguments = ", ".join(f'"{key}": {_json(value)}' for key, value in (call.arguments or {}).items())
    key = "parameters" if name.startswith("llama3_") else "arguments"
    body = f'{{"name": "{call.name}", "{key}": {{{arguments}}}}}'
    if name in ("gemma3", "llama3"):
        body = (
            body.replace('": ', '":')
            .replace(', "', ',"')
            .replace('{"name":', '{"name": ')
            .replace(',"arguments":', ', "arguments": ')
        )
    if name.startswith("llama3_"):
        return body
    return f"<tool_call>\n{body}\n</tool_call>" if name == "qwen3" else f"<tool_call>{body}</tool_call>"


def _json(value: Any) -> str:
    return f'"{value}"' if isinstance(value, str) else str(value)


@pytest.mark.parametrize("name", _ENDS)
def test_sft_01_exactly_the_decision_and_its_end(name: str, boat_conversation: Conversation) -> None:
    """SFT-01: in every template the learnt tokens, decoded, are the decision and the mark that ends it, spelt by hand."""
    templated, _ = fitted(family(name))
    renderer = Renderer(templated)
    for example in _examples(boat_conversation):
        rendered = _rendered(renderer.example(example))
        assert _learnt(templated, rendered) == [_spelt(name, example.target) + _ENDS[name]]
        # All learnt tokens stand at the end, behind the very prompt that a server would make.
        prompt = templated.prompt(example.setting.policy, example.setting.tools, example.context)
        size = len(rendered.tokens) - rendered.targets
        assert list(rendered.tokens[:size]) == templated.tokens(prompt)
        assert not any(rendered.learnt[:size])


@pytest.mark.parametrize("name", ["ours", "qwen3"])
def test_sft_01_with_reasoning(name: str, boat_conversation: Conversation) -> None:
    """SFT-01: with thinking the thoughts are learnt, in front of the decision, and never the prompt's part of them."""
    templated, _ = fitted(family(name), Manner(thinking=True))
    renderer = Renderer(templated)
    for example in _examples(boat_conversation, thought=_THOUGHT):
        text = _learnt(templated, _rendered(renderer.example(example)))
        assert text == [f"<think>\n{_THOUGHT}\n</think>\n\n{_spelt(name, example.target)}{_ENDS[name]}"]
    silent = renderer.example(_examples(boat_conversation)[0])
    assert isinstance(silent, Refused) and silent.why == "no reasoning"


@pytest.mark.parametrize("name", ["ours", "gemma3", "llama3_1", "llama3"])
def test_sft_01_a_conversation_is_one_sequence(name: str, boat_conversation: Conversation) -> None:
    """SFT-01: where the template allows it, one sequence learns what the single examples learn, token by token."""
    templated, _ = fitted(family(name))
    renderer = Renderer(templated)
    whole = _rendered(renderer.conversation(boat_conversation))
    single = [_rendered(renderer.example(one)) for one in _examples(boat_conversation)]
    assert _learnt(templated, whole) == [text for one in single for text in _learnt(templated, one)]
    assert (whole.decisions, whole.targets) == (4, sum(one.targets for one in single))
    assert whole.tokens[: len(single[-1].tokens)] == single[-1].tokens


def test_sft_01_a_template_that_rewrites_turns_is_found_out(boat_conversation: Conversation) -> None:
    """SFT-01: Qwen3 shows thoughts in the last turn only: no single sequence, and each example has its own context."""
    templated, _ = fitted(family("qwen3"), Manner(thinking=True))
    thinking = _examples(boat_conversation, thought=_THOUGHT)
    messages: list[Message] = [*thinking[-1].context, thinking[-1].target]
    found = Renderer(templated).conversation(msgspec.structs.replace(boat_conversation, messages=tuple(messages)))
    assert isinstance(found, Refused) and found.why == "rewritten"
    # In the same turn thoughts are shown, in earlier ones they are not.
    context = _context(templated, _rendered(Renderer(templated).example(thinking[3])))
    assert context.count(_THOUGHT) == 1 and context.index(_THOUGHT) > context.index("Yes.")


def _context(templated: Templated, rendered: Rendered) -> str:
    return templated.text([token for token, mark in zip(rendered.tokens, rendered.learnt, strict=True) if not mark])


_TRAINED = {"qwen3_training.jinja": "qwen3", "gemma3_training.jinja": "gemma3", "llama3_training.jinja": "llama3"}


@pytest.mark.parametrize("file", _TRAINED)
def test_masks_beside_those_of_trl(file: str, boat_conversation: Conversation) -> None:
    """TRL's templates for training mark our tokens and, of some, the line end behind a turn and empty thoughts too."""
    tokenizer = family(_TRAINED[file])
    folded = file != "qwen3_training.jinja"
    templated = Templated(tokenizer, Manner(template=trl_template(file), fold_roles=folded))
    ours = _rendered(Renderer(templated).conversation(boat_conversation))
    request = Request(
        policy=boat_conversation.policy,
        tools=boat_conversation.tools,
        messages=boat_conversation.messages,
        seat=Seat(conversation="", protocol="gold", decision=None),
    )
    messages, tools = Wire(fold_roles=folded).encode(request)
    theirs = tokenizer.apply_chat_template(
        messages,
        tools=None if tools is None else msgspec.json.decode(tools),
        chat_template=trl_template(file),
        return_dict=True,
        return_assistant_tokens_mask=True,
        enable_thinking=False,
    )
    size = len(ours.tokens)
    if folded:
        assert theirs["input_ids"][:size] == list(ours.tokens)
        masks = zip(ours.tokens, ours.learnt, theirs["assistant_masks"], strict=False)
        more = [tokenizer.decode([token]) for token, mine, other in masks if mine != bool(other)]
        assert set(more) <= {"\n"}
        assert len(more) == (3 if _TRAINED[file] == "gemma3" else 0)
        return
    # Their text has compact arguments, since they were sent as text; what is marked around them is the same.
    text = tokenizer.decode(
        [token for token, mark in zip(theirs["input_ids"], theirs["assistant_masks"], strict=True) if mark]
    )
    empty = "<think>\n\n</think>\n\n"
    assert text.count(empty) == text.count("<|im_end|>\n") == 4
    mine = "".join(_learnt(templated, ours))
    assert text.replace(empty, "").replace("<|im_end|>\n", "<|im_end|>").replace(" ", "") == mine.replace(" ", "")


def test_sft_03_nothing_to_learn_is_refused(boat_conversation: Conversation) -> None:
    """SFT-03: where policy, tools and decision alone pass the limit the example is refused, with its size and its id."""
    templated, _ = fitted(family("ours"))
    example = _examples(msgspec.structs.replace(boat_conversation, policy="Be kind. " * 900))[0]
    found = Renderer(templated, 512).example(example)
    assert isinstance(found, Refused) and found.why == "too long"
    assert str(found).startswith("boat#0: too long: ") and "limit 512" in str(found)
    assert isinstance(Renderer(templated, 512).conversation(boat_conversation), Refused)


def test_sft_03_no_rendered_example_is_without_target(boat_conversation: Conversation) -> None:
    """SFT-03: a template without marks needs none of its own: whatever is rendered has learnt tokens at its very end."""
    for name in _ENDS:
        templated, _ = fitted(family(name))
        for example in _examples(boat_conversation):
            rendered = _rendered(Renderer(templated).example(example))
            assert rendered.targets > 1 and rendered.learnt[-1]
    endless = Templated(
        templated_with("{% for m in messages %}{{ m['role'] + ':' + (m['content'] or '') }}{% endfor %}")
    )
    found = Renderer(endless).example(_examples(boat_conversation)[1])
    assert isinstance(found, Refused)


def test_a_template_without_an_end_is_refused(boat_conversation: Conversation) -> None:
    """A model that never learns to stop would talk on: no mark, no example."""
    source = "{% for m in messages %}{{ m['role'] + ': ' + (m['content'] or '') + '\\n' }}{% endfor %}"
    endless = Templated(templated_with(source + "{% if add_generation_prompt %}assistant: {% endif %}"))
    found = Renderer(endless).example(_examples(boat_conversation)[1])
    assert isinstance(found, Refused) and found.why == "no end"


@pytest.mark.parametrize("name", ["qwen3", "ours", "llama3_1", "gemma3"])
def test_sft_04_no_boilerplate_is_learnt(name: str, boat_conversation: Conversation) -> None:
    """SFT-04: the prompt that serves and the tokens that train are equal; empty thoughts belong to the prompt, unlearnt."""
    templated, _ = fitted(family(name))
    example = _examples(boat_conversation)[1]
    rendered = _rendered(Renderer(templated).example(example))
    setting = example.setting
    prompt = templated.prompt(setting.policy, setting.tools, example.context)
    whole = templated.whole(setting.policy, setting.tools, [*example.context, example.target])
    assert templated.text(rendered.tokens) == prompt + example.target.content + _ENDS[name]
    assert whole.startswith(templated.text(rendered.tokens))
    assert "think" not in "".join(_learnt(templated, rendered))
    if name == "qwen3":
        assert prompt.endswith("<think>\n\n</think>\n\n")


def test_sft_04_a_template_that_always_thinks_is_refused(boat_conversation: Conversation) -> None:
    """SFT-04: where the prompt opens thoughts whatever is asked, answers without any would teach their end; refused."""
    always = CHATML.source().replace(
        "assistant\\n' -}}\n    {%- if", "assistant\\n<think>\\n\\n</think>\\n\\n' -}}\n    {%- if"
    )
    always = always.replace(
        "{{- '<|im_start|>assistant\\n' -}}{%- endif -%}", "{{- '<|im_start|>assistant\\n<think>\\n' -}}{%- endif -%}"
    )
    templated = Templated(templated_with(always))
    assert templated.prompt("", (), [UserMessage(content="Hi.")]).endswith("<think>\n")
    found = Renderer(templated).example(_examples(boat_conversation)[1])
    assert isinstance(found, Refused) and found.why == "no reasoning" and "--thinking" in found.detail


def _two_calls(conversation: Conversation) -> Conversation:
    first = conversation.messages[1]
    assert isinstance(first, AssistantMessage)
    note = ToolCall(name="add_note", arguments={"booking_id": "BK-1042", "text": "moved"})
    both = msgspec.structs.replace(first, calls=(*first.calls, note))
    result = ToolMessage(name="add_note", content="noted")
    messages = (conversation.messages[0], both, conversation.messages[2], result, *conversation.messages[3:])
    return msgspec.structs.replace(conversation, messages=messages)


def test_sft_06_several_calls_where_the_template_says_one(boat_conversation: Conversation) -> None:
    """SFT-06: Llama 3 refuses two calls by name of example and reason; split on request, each call is a decision."""
    templated, said = fitted(family("llama3_1"))
    assert "refuses several calls" in said
    renderer = Renderer(templated)
    made = make([_two_calls(boat_conversation)], Options(validation=0)).train
    found = [renderer.example(one) for one in made]
    assert all(isinstance(one, Refused) for one in found)
    assert str(found[0]).startswith("boat#0: refused by the template: ") and "single tool-calls" in str(found[0])
    split = make([_two_calls(boat_conversation)], Options(validation=0, split_calls=True)).train
    texts = [_learnt(templated, _rendered(renderer.example(one)))[0] for one in split]
    assert [("get_booking" in text, "add_note" in text) for text in texts[:2]] == [(True, False), (False, True)]
    context = _context(templated, _rendered(renderer.example(split[1])))
    assert "2031-04-30" in context  # the result of the first call stands between the two
    assert len(split) == len(made) + 1


@pytest.mark.parametrize("name", ["ours", "qwen3", "gemma3"])
def test_sft_06_several_calls_where_the_template_says_them(name: str, boat_conversation: Conversation) -> None:
    """SFT-06: templates that know several calls learn all of them in one decision, and they are read back."""
    templated, _ = fitted(family(name))
    example = make([_two_calls(boat_conversation)], Options(validation=0)).train[0]
    (text,) = _learnt(templated, _rendered(Renderer(templated).example(example)))
    message = read({"content": text.removesuffix(_ENDS[name])}, ToolView(example.setting.tools), dialects.ALL).message
    assert [(call.name, call.arguments) for call in message.calls] == [
        (call.name, call.arguments) for call in example.target.calls
    ]


@pytest.mark.parametrize("name", ["llama3_1", "llama3_2"])
def test_sft_09_the_date_is_frozen(name: str, boat_conversation: Conversation) -> None:
    """SFT-09: a template that writes the date gets the run's, never the day's; it is told of, and is part of the manner."""
    templated, said = fitted(family(name), Manner(today="2031-05-01"))
    example = _examples(boat_conversation)[0]
    text = templated.text(_rendered(Renderer(templated).example(example)).tokens)
    assert "Today Date: 01 May 2031" in text
    assert date.today().strftime("%d %b %Y") not in text  # noqa: DTZ011 - as a template would write it
    assert "2031-05-01 (--today)" in said
    assert templated.manner.digest() != Manner().digest()


def test_sft_09_a_clock_of_the_template_is_frozen_too() -> None:
    """SFT-09: `strftime_now` in a template tells the run's date."""
    source = "{{ strftime_now('%Y-%m-%d') }}{% for m in messages %}{{ m['content'] }}<|im_end|>{% endfor %}"
    templated = Templated(templated_with(source), Manner(today="2031-05-01"))
    assert templated.prompt("", (), [UserMessage(content="Hi.")]) == "2031-05-01Hi.<|im_end|>"


def test_sft_11_cut_from_the_oldest_turn_never_from_policy_tools_target(boat_conversation: Conversation) -> None:
    """SFT-11: ten tokens too long loses the oldest turn, counted; policy, tools, own turn and decision stay whole."""
    templated, _ = fitted(family("ours"))
    example = _examples(boat_conversation)[3]
    whole = _rendered(Renderer(templated).example(example))
    assert whole.cut == 0
    cut = _rendered(Renderer(templated, len(whole.tokens) - 10).example(example))
    assert cut.cut == 4  # the first request, its call and result, and the question
    text = _context(templated, cut)
    assert boat_conversation.policy in text and all(f'"{tool.name}"' in text for tool in boat_conversation.tools)
    assert "Please move BK-1042" not in text and "Yes." in text
    assert _learnt(templated, cut) == _learnt(templated, whole)
    least = len(cut.tokens)
    assert _rendered(Renderer(templated, least).example(example)).cut == 4
    refused = Renderer(templated, least - 1).example(example)
    assert isinstance(refused, Refused) and (refused.id, refused.why) == ("boat#3", "too long")


def test_malformed_and_empty_decisions_are_context(boat_conversation: Conversation) -> None:
    """In a whole conversation only decisions that can be examples are learnt, and only those that are asked for."""
    templated, _ = fitted(family("ours"))
    broken = AssistantMessage(calls=(ToolCall(name="get_booking", arguments=None, raw="{oops", error="no JSON"),))
    messages = (boat_conversation.messages[0], broken, *boat_conversation.messages[2:])
    odd = msgspec.structs.replace(boat_conversation, messages=messages)
    whole = _rendered(Renderer(templated).conversation(odd))
    assert whole.decisions == 3
    assert "oops" in _context(templated, whole) and not any("oops" in text for text in _learnt(templated, whole))
    some = _rendered(Renderer(templated).conversation(boat_conversation, {1: 1, 3: 1}))
    assert _learnt(templated, some) == [
        "It is for two people on 30 April. Shall I move it to 2 May?<|im_end|>",
        "Done, your booking is on 2 May.<|im_end|>",
    ]
    nothing = Renderer(templated).conversation(boat_conversation, {})
    assert isinstance(nothing, Refused) and nothing.why == "nothing to learn"
    asked = Renderer(templated).conversation(odd, {0: 1, 1: 1})
    assert isinstance(asked, Refused) and asked.why == "malformed call"


def test_decisions_count_as_often_as_is_asked(boat_conversation: Conversation) -> None:
    """Every token of a decision counts as often as the decision; what is not asked for is context, and ends nothing."""
    templated, _ = fitted(family("ours"))
    renderer = Renderer(templated)
    single = [_rendered(renderer.example(one)) for one in _examples(boat_conversation)]
    later = msgspec.structs.replace(boat_conversation, start=3)
    found = _rendered(renderer.conversation(later, {0: 2, 1: 0, 2: 5}))
    assert found.tokens == single[2].tokens
    counts = [0] * len(found.tokens)
    for one, count in ((single[0], 2), (single[2], 5)):
        counts[len(one.tokens) - one.targets : len(one.tokens)] = [count] * one.targets
    assert found.learnt == tuple(counts)
    assert (found.decisions, found.targets) == (7, 2 * single[0].targets + 5 * single[2].targets)
    assert _rendered(renderer.conversation(later)).decisions == 1


def test_a_decision_that_holds_the_mark_of_its_end_is_refused(boat_conversation: Conversation) -> None:
    """Text that spells the end of a turn would teach to stop in the middle."""
    templated, _ = fitted(family("ours"))
    spelt = AssistantMessage(content="I write <|im_end|> and go on.")
    odd = msgspec.structs.replace(boat_conversation, messages=(boat_conversation.messages[0], spelt))
    found = Renderer(templated).example(_examples(odd)[0])
    assert isinstance(found, Refused) and found.why == "not read back"


def test_text_beside_a_call_that_the_template_drops_is_refused(boat_conversation: Conversation) -> None:
    """Llama 3.1 leaves out what is said beside a call: such a decision is refused, and the template's habit is told of."""
    templated, said = fitted(family("llama3_1"))
    assert "drops text beside calls" in said
    first = boat_conversation.messages[1]
    beside = msgspec.structs.replace(first, content="One moment.")
    odd = msgspec.structs.replace(
        boat_conversation, messages=(boat_conversation.messages[0], beside, *boat_conversation.messages[2:])
    )
    found = Renderer(templated).example(_examples(odd)[0])
    assert isinstance(found, Refused) and found.why == "not read back" and "One moment." in found.detail


@pytest.mark.parametrize("name", ["llama3_1", "ours"])
def test_an_agent_that_speaks_first(name: str, boat_conversation: Conversation) -> None:
    """Llama 3.1 would pass a greeting off as the user's: refused; a template with a place for it renders it."""
    templated, _ = fitted(family(name))
    greeting = AssistantMessage(content="Good day, how can I help?")
    odd = msgspec.structs.replace(boat_conversation, messages=(greeting, *boat_conversation.messages))
    found = [Renderer(templated).example(one) for one in _examples(odd)]
    if name == "ours":
        assert all(isinstance(one, Rendered) for one in found)
    else:
        assert all(isinstance(one, Refused) for one in found)


@settings(max_examples=30, deadline=None)
@given(conversations(several=True))
def test_every_decision_is_read_back(conversation: Conversation) -> None:
    """Whatever the conversation, ours and Qwen3 render every decision, and one sequence learns the same tokens."""
    for name in ("ours", "qwen3"):
        templated, _ = fitted(family(name))
        for example in make([conversation], Options(validation=0)).train:
            rendered = _rendered(Renderer(templated).example(example))
            (text,) = _learnt(templated, rendered)
            message = read(
                {"content": text.removesuffix(_ENDS[name])}, ToolView(conversation.tools), dialects.ALL
            ).message
            assert message.content == example.target.content
            assert [call.arguments for call in message.calls] == [call.arguments for call in example.target.calls]
    templated, _ = fitted(family("llama3_1"))
    for example in make([with_single_calls(conversation)], Options(validation=0)).train:
        assert isinstance(Renderer(templated).example(example), Rendered)


def test_line_ends_in_front_of_an_answer_are_not_learnt(boat_conversation: Conversation) -> None:
    """Recordings hold answers that begin with empty lines: they are no part of the decision, and spoil no sequence."""
    templated, _ = fitted(family("ours"))
    messages = (*boat_conversation.messages[:-1], AssistantMessage(content="\n\nDone. "))
    made = make([msgspec.structs.replace(boat_conversation, messages=messages)], Options(validation=0))
    assert _learnt(templated, _rendered(Renderer(templated).example(made.train[3]))) == ["Done.<|im_end|>"]
    whole = _rendered(Renderer(templated).conversation(made.conversations["train"][0]))
    assert _learnt(templated, whole)[3] == "Done.<|im_end|>"
