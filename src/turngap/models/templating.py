"""What a chat template makes of a request: text and tokens, and what of the request the template silently drops.

A tokenizer brings its template; a template of ours takes its place where that has no room for tools. Either is asked
through `Templated`, for training and for generation alike, so that what a model is trained on is token by token what it
is asked with later. Works on any tokenizer of transformers, and imports neither it nor torch.

Templates differ in what they do with what they have no place for: some raise, most leave it out. `dropped` renders a
conversation with a mark in every part and says which marks are missing.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from typing import Any, Literal, Protocol

import msgspec

from turngap import jsonio
from turngap.data import AssistantMessage, Message, SystemMessage, ToolCall, ToolMessage, ToolSpec, UserMessage
from turngap.errors import ConfigError, DataFault
from turngap.models.base import Request, Seat
from turngap.models.turns import CHATML, known_to
from turngap.models.wire import Wire

MANNER = "turngap.json"
"""In a folder of transformers: ``{"manner": ...}``, how the model in it was trained to be asked (see `Manner`)."""

_NOWHERE = Seat(conversation="", protocol="gold", decision=None)
_CLOCK = "strftime_now"
"""What templates call to learn the date of the day."""
_DIRECTIVES = "aAbBcdeFHIjmMpSxXyY"
_NO_THOUGHTS = "<think>\n\n</think>\n\n"


class Tokenizer(Protocol):
    """What is used of a tokenizer of transformers."""

    chat_template: Any
    all_special_ids: list[int]
    added_tokens_decoder: dict[int, Any]
    """Token -> what it is: its text as ``content``, and as ``special`` whether texts have no such thing."""

    def apply_chat_template(self, conversation: Any, **settings: Any) -> Any:
        """Render messages."""
        ...

    def encode(self, text: str, **settings: Any) -> list[int]:
        """Text to tokens."""
        ...

    def decode(self, token_ids: Any, **settings: Any) -> Any:
        """Tokens to text."""
        ...

    def get_added_vocab(self) -> dict[str, int]:
        """Tokens that stand for themselves, such as the marks of turns."""
        ...


class Manner(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How a model is rendered for, the same in training and when it is asked; part of what it is."""

    template: str | None = None
    """Jinja source in place of the tokenizer's own; None: its own."""
    thinking: bool = False
    """Whether the model reasons before it answers."""
    today: str = "2031-01-01"
    """The date that templates which write one get, ISO 8601; never the day of the run."""
    arguments: Literal["object", "string"] = "object"
    """How the template wants arguments; ``string`` is JSON text."""
    fold_roles: bool = False
    """Send user and assistant turns alone, for templates that refuse all others (see `turngap.models.wire`)."""

    def digest(self) -> str:
        """Its identity."""
        return jsonio.digest(self)


class Dropped(msgspec.Struct, frozen=True, kw_only=True):
    """What a template leaves out or refuses."""

    parts: tuple[str, ...] = ()
    """What of a request is silently missing from the text; names of `_PROBES`."""
    refuses: tuple[str, ...] = ()
    """What it raises on; names of `_PROBES`."""
    dated: bool = False
    """Whether it writes the date of the day."""

    @property
    def essential(self) -> tuple[str, ...]:
        """What is lost of what every conversation with tools is made of: a template that loses it is of no use."""
        return tuple(name for name in (*self.parts, *self.refuses) if name not in _OCCASIONAL)

    def sentence(self) -> str:
        """In words; empty where nothing is lost."""
        told = []
        if self.parts:
            told.append(f"the chat template silently drops {', '.join(self.parts)}")
        if self.refuses:
            told.append(f"the chat template refuses {', '.join(self.refuses)}")
        return "; ".join(told)


class Templated:
    """A tokenizer with the template and the manner that are used with it."""

    def __init__(self, tokenizer: Tokenizer, manner: Manner | None = None) -> None:
        """Settle how to render.

        Raises:
            ConfigError: there is no template at all, or the date is none.
        """
        manner = manner or Manner()
        self.tokenizer = tokenizer
        self.manner = manner
        template = manner.template or tokenizer.chat_template
        if not isinstance(template, str):
            raise ConfigError("the tokenizer has no chat template; name one with --template")
        self.template: str = template
        """Jinja source."""
        try:
            self._today = date.fromisoformat(manner.today)
        except ValueError:
            raise ConfigError(f"the date is {manner.today!r}; write it as 2031-05-01") from None
        self._source = _with_a_stopped_clock(template, self._today) if _CLOCK in template else template
        self._wire = Wire(send_reasoning=manner.thinking, fold_roles=manner.fold_roles)
        # Some vocabularies hold line ends and runs of blanks in the same way as marks.
        added = (token for text, token in tokenizer.get_added_vocab().items() if text.strip())
        self._marks = frozenset((*tokenizer.all_special_ids, *added))

    def prompt(self, policy: str, tools: tuple[ToolSpec, ...], messages: Sequence[Message]) -> str:
        """The text that asks for the next decision, as a server would ask.

        Raises:
            DataFault: the template refuses these messages; says how.
        """
        return self._render(policy, tools, messages, generation=True)

    def whole(self, policy: str, tools: tuple[ToolSpec, ...], messages: Sequence[Message]) -> str:
        """The text of messages that end with a decision; raises as `prompt`."""
        return self._render(policy, tools, messages, generation=False)

    def answer(
        self, policy: str, tools: tuple[ToolSpec, ...], messages: Sequence[Message], decision: AssistantMessage
    ) -> str | None:
        """What follows the prompt when the decision is made, up to the end of the text; None where nothing does.

        Templates that open answers without reasoning with an empty block of thoughts do so in the prompt, in the whole
        text, in both, or in only some turns of it. The block belongs to the prompt alone, so nobody learns it.
        """
        prompt = self.prompt(policy, tools, messages)
        whole = self.whole(policy, tools, [*messages, decision])
        if whole.startswith(prompt):
            rest = whole[len(prompt) :]
            return rest.removeprefix(_NO_THOUGHTS) if decision.reasoning is None and self._is_opened(prompt) else rest
        bare = prompt.removesuffix(_NO_THOUGHTS)
        if bare != prompt and whole.startswith(bare):
            return whole[len(bare) :].removeprefix(_NO_THOUGHTS)
        return None

    @staticmethod
    def _is_opened(prompt: str) -> bool:
        return prompt.endswith(_NO_THOUGHTS)

    def tokens(self, text: str) -> list[int]:
        """The tokens of a rendered text."""
        return self.tokenizer.encode(text, add_special_tokens=False)

    def text(self, tokens: Sequence[int]) -> str:
        """What tokens say, marks of turns included."""
        return str(self.tokenizer.decode(list(tokens), skip_special_tokens=False))

    def is_mark(self, token: int) -> bool:
        """Whether a token is one that no text contains: the end of a turn, say."""
        return token in self._marks

    def turn_marks(self) -> frozenset[int]:
        """The marks that stand behind an answer: what a plain one ends with. Empty where the template writes none."""
        asked: list[Message] = [UserMessage(content="a"), AssistantMessage(content="b")]
        tail = self.tokens(self.whole("", (), asked))[-3:]
        return frozenset(token for token in tail if self.is_mark(token))

    def stops(self) -> frozenset[int]:
        """The tokens at which an answer is over: the marks behind it, those that begin another turn, and the end."""
        added = self.tokenizer.added_tokens_decoder
        special = frozenset((*self.tokenizer.all_special_ids, *(token for token in added if added[token].special)))
        asked: list[Message] = [UserMessage(content="a"), AssistantMessage(content="b"), UserMessage(content="c")]
        seen = special & frozenset(self.tokens(self.prompt("", (), asked)))
        end = getattr(self.tokenizer, "eos_token_id", None)
        return self.turn_marks() | seen | (frozenset() if end is None else frozenset([end]))

    def _render(
        self, policy: str, tools: tuple[ToolSpec, ...], messages: Sequence[Message], *, generation: bool
    ) -> str:
        import jinja2  # noqa: PLC0415 - comes with what has tokenizers; who renders nothing does without

        request = Request(policy=policy, tools=tools, messages=tuple(messages), seat=_NOWHERE)
        told, encoded = self._wire.encode(request)
        if self.manner.arguments == "object":
            told = [_with_objects(message) for message in told]
        try:
            text = self.tokenizer.apply_chat_template(
                told,
                tools=None if encoded is None else jsonio.loads(bytes(encoded)),
                chat_template=self._source,
                add_generation_prompt=generation,
                tokenize=False,
                enable_thinking=self.manner.thinking,
                date_string=self._today.strftime("%d %b %Y"),
            )
        except (jinja2.TemplateError, TypeError, ValueError, KeyError) as error:
            said = " ".join(str(error).split()) or type(error).__name__
            raise DataFault(f"the chat template refuses this: {said}") from None
        return str(text)


_TEXT_BESIDE, _SEVERAL, _INSTRUCTIONS = "text beside calls", "several calls", "instructions between turns"
_OCCASIONAL = (_TEXT_BESIDE, _SEVERAL, _INSTRUCTIONS)
"""What many conversations do without."""


class _Probe(msgspec.Struct, frozen=True):
    """A short conversation, and which mark stands for what in it."""

    name: str
    """What is refused when a template raises on it."""
    messages: tuple[Message, ...]
    marks: dict[str, tuple[str, ...]]
    """Part of a request -> the marks of it that have to be in the text."""


def _probes(*, thinking: bool) -> tuple[_Probe, ...]:
    asked = UserMessage(content="mark-user")
    one, two = (ToolCall(name=f"marked_{at}", arguments={"p": f"mark-argument-{at}"}) for at in (1, 2))
    result = ToolMessage(content="mark-result", name=one.name)
    called = AssistantMessage(calls=(one,), reasoning="mark-reasoning" if thinking else None)
    told = AssistantMessage(calls=(one,), content="mark-said", reasoning=called.reasoning)
    several = AssistantMessage(calls=(one, two), reasoning=called.reasoning)
    other = ToolMessage(content="mark-other", name=two.name)
    answer, instruction = AssistantMessage(content="mark-answer"), SystemMessage(content="mark-instruction")
    return (
        _Probe("policy and tools", (asked,), {"policy": ("mark-policy",), "tools": ("mark-tool",)}),
        _Probe(
            "calls and results",
            (asked, called, result),
            {
                "calls": (one.name,),
                "arguments": ("mark-argument-1",),
                "results": ("mark-result",),
                **({"reasoning": ("mark-reasoning",)} if thinking else {}),
            },
        ),
        _Probe(_TEXT_BESIDE, (asked, told, result), {_TEXT_BESIDE: ("mark-said", one.name, "mark-argument-1")}),
        _Probe(
            _SEVERAL,
            (asked, several, result, other),
            {_SEVERAL: (two.name, "mark-argument-1", "mark-argument-2", "mark-result", "mark-other")},
        ),
        _Probe(_INSTRUCTIONS, (asked, answer, instruction, asked), {_INSTRUCTIONS: ("mark-instruction",)}),
    )


def dropped(templated: Templated) -> Dropped:
    """Find out what a template leaves out or refuses, by marks in every part of some short conversations."""
    # No tool has the name of a call, so that a list of tools does not hide that calls are missing.
    spec = ToolSpec(
        name="marked_tool",
        description="mark-tool",
        parameters={"type": "object", "properties": {"p": {"type": "string"}}},
    )
    parts: list[str] = []
    refuses: list[str] = []
    for probe in _probes(thinking=templated.manner.thinking):
        try:
            text = templated.prompt("mark-policy", (spec,), probe.messages)
        except DataFault:
            refuses.append(probe.name)
            continue
        parts += [part for part, marks in probe.marks.items() if any(mark not in text for mark in marks)]
    return Dropped(parts=tuple(parts), refuses=tuple(refuses), dated=_is_dated(templated))


def _is_dated(templated: Templated) -> bool:
    texts = set()
    for today in ("2031-01-02", "2047-11-28"):
        other = Templated(templated.tokenizer, msgspec.structs.replace(templated.manner, today=today))
        try:
            texts.add(other.prompt("", (), (UserMessage(content="mark-user"),)))
        except DataFault:
            return False
    return len(texts) > 1


def fitted(tokenizer: Tokenizer, manner: Manner | None = None) -> tuple[Templated, str]:
    """A tokenizer with its own template, or with ours where its own loses tools; and a line to tell the person.

    A template that the manner names is never replaced.

    Raises:
        ConfigError: the model is to reason, and our template for its turns has no place for that.
    """
    manner = manner or Manner()
    if manner.template is None and tokenizer.chat_template is None:
        return _ours(tokenizer, manner), "the tokenizer has no chat template: turngap's own is used"
    own = Templated(tokenizer, manner)
    lost = dropped(own)
    if not lost.essential:
        dated = f"the chat template writes the date, which is told to be {manner.today} (--today)" if lost.dated else ""
        return own, "; ".join(filter(None, (lost.sentence(), dated)))
    if manner.template is None and CHATML.begin in tokenizer.get_added_vocab():
        return _ours(tokenizer, manner), f"{lost.sentence()}: turngap's own is used"
    folded = Templated(tokenizer, msgspec.structs.replace(manner, fold_roles=True))
    if not manner.fold_roles and not dropped(folded).essential:
        return folded, f"{lost.sentence()}: only user and assistant turns are sent, with the tools in the first"
    return own, lost.sentence()


def _ours(tokenizer: Tokenizer, manner: Manner) -> Templated:
    turns = known_to(tokenizer.get_added_vocab())
    file = turns.thinking if manner.thinking else turns.template
    if file is None:
        raise ConfigError(f"turngap's template for turns marked {turns.begin} has no thoughts; name one: --template")
    return Templated(tokenizer, msgspec.structs.replace(manner, template=file.read_text(encoding="utf-8")))


def _with_a_stopped_clock(template: str, today: date) -> str:
    """A template whose clock tells one day, in front of what it was.

    Templates are given data and no functions, so the function becomes a macro that fills in what the day has to say.
    """
    told = {f"%{letter}": today.strftime(f"%{letter}") for letter in _DIRECTIVES}
    # Without leading noughts; not every system knows these by itself.
    told |= {f"%-{letter}": str(int(today.strftime(f"%{letter}"))) for letter in "dmHIMS"}
    filled = "".join(f" | replace({directive!r}, {text!r})" for directive, text in told.items())
    kept = "\n" if template.startswith("\n") else ""  # a line end behind a block is trimmed
    return f"{{%- macro {_CLOCK}(format) %}}{{{{ format{filled} }}}}{{% endmacro %}}{kept}{template}"


def _with_objects(message: dict[str, Any]) -> dict[str, Any]:
    calls = message.get("tool_calls")
    if not calls:
        return message
    return {**message, "content": message["content"] or "", "tool_calls": [_with_object(call) for call in calls]}


def _with_object(call: dict[str, Any]) -> dict[str, Any]:
    function = call["function"]
    try:
        arguments = jsonio.loads(function["arguments"])
    except jsonio.JsonError:
        return call
    return {**call, "function": {**function, "arguments": arguments}}
