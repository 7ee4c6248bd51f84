"""The scripted user: acts out a task's structured intent by rules, without a model, the same way every time.

It opens with its opening, tells facts when asked for them and not before, changes course at the set points, says no to
proposals that rest on what it has taken back, insists when refused, and leaves when the agent is done. What it does not
understand it says, and after some such replies it leaves as out of scope, so that no trial goes on for ever.

It hears by phrases (`turngap.users.hearing`, `turngap.data.asking`), so an agent that words things oddly may be
misunderstood; what it says never depends on anything but the task and the agent's words. It is no judge of the agent:
it does not look at calls, results or the database.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

from turngap.config import ModelConfig
from turngap.data import (
    AssistantMessage,
    Change,
    Fact,
    Intent,
    Message,
    Spoken,
    Task,
    Termination,
    ToolCall,
    ToolMessage,
    ToolSpec,
    Usage,
    UserMessage,
)
from turngap.data.asking import answer, asked, slots_known, spell, spoken
from turngap.errors import UsageError
from turngap.models import ModelContext
from turngap.users import intent as intents
from turngap.users.hearing import Heard, hear, last_words
from turngap.users.lapse import Lapse
from turngap.users.signals import sign
from turngap.users.simulator import Hands, Part

VERSION = 2
"""Raised when the same intent would be acted out differently."""
PATIENCE = 3
"""Replies in a row that bring nothing new, before it leaves."""

_YES = "Yes, please."
_NO = "No, thank you."
_GO_ON = "All right. Please go on if there is anything left to do."
_THANKS = "Thank you."
_UNCLEAR = "I am afraid I do not know. Please use what you have on file."
_LOOKS = re.compile(r"^(get|check|can|run|show)_")
_SWITCHES = re.compile(r"\b(turn|switch)\b")
_INSTEAD = re.compile(r"\b(transfer|instead|alternative|human|representative|supervisor)", re.IGNORECASE)
_EMPTY_WORDS = frozenset(
    re.findall(
        r"\w+",
        """a an the i me my you your he she it we they this that these those is are was were be been am do does did have
        has had will would can could shall should may might to of in on at for with from by as and or but if so not no
        yes please any some all there here which what when where who how why like want need know tell let us more about
        into up out also order orders agent ask asks asked number provide""",
    )
)


class ScriptedUser:
    """The user of one trial."""

    lapses: tuple[Lapse, ...] = ()
    usage = Usage()

    def __init__(self, task: Task, *, hands: Hands | None = None, patience: int = PATIENCE) -> None:
        self.left: Termination | None = None
        self._intent: Intent = intents.intent_of(task)
        self._facts: list[Fact] = list(self._intent.facts)
        self._changes: list[Change] = list(self._intent.changes)
        self._insist: list[str] = list(self._intent.insist)
        self._taken_back: list[tuple[Fact, Change]] = []
        self._told: set[str] = set()
        self._hands = hands
        self._own_actions = [action for action in task.criteria.actions if action.requestor == "user"]
        self._patience = patience
        self._idle = 0
        self._replies = 0
        self._opened = False

    async def speak(self, history: Sequence[Message]) -> tuple[UserMessage | Spoken, ...] | None:
        """Say the next thing; None after the last words, nothing where the given history ends with the user's own."""
        if self.left is not None:
            return None
        if not self._opened:
            self._opened = True
            if history and not isinstance(history[-1], AssistantMessage):
                return ()
            return (UserMessage(content=self._intent.opening),)
        self._replies += 1
        heard = hear(last_words(history))
        calls, results = await self._do(heard)
        message = UserMessage(content=self._signed(self._reply(heard, results)))
        return (Spoken(message=message, calls=calls, results=results),) if calls else (message,)

    def _signed(self, words: str) -> str:
        return words if self.left is None else sign(words, self.left)

    def _reply(self, heard: Heard, results: Sequence[ToolMessage]) -> str:
        if heard.handed_over:
            return self._leave(Termination.TRANSFER, "All right.")
        told = [f"{result.name}: {result.content}" for result in results]
        told += self._answers(heard)
        change = self._due_change(heard, bool(told))
        if change is not None:
            self._idle = 0
            return " ".join([*self._turn(change), *told])
        if heard.refuses and self._insist and not told and (not heard.asks_yes or _INSTEAD.search(heard.asks_yes)):
            self._idle = 0
            return self._insist.pop(0)
        told = told or self._remarks(heard)
        if told:
            return self._tell(heard, told)
        if heard.asks_yes:
            return self._decide(heard)
        if heard.closes or (heard.refuses and not heard.asks):
            return self._leave(Termination.USER_STOP, self._intent.closing)
        return self._wait(heard)

    # What it says when asked.

    def _answers(self, heard: Heard) -> list[str]:
        """What it can tell of the slots that are asked for, and which of them it does not know."""
        known = dict.fromkeys(fact.slot for fact in self._facts)
        told: list[str] = []
        slots = asked(heard.asks, [*known, *self._intent.unknown, *slots_known()])
        for slot in slots:
            facts = [fact for fact in self._facts if fact.slot == slot]
            if facts:
                told += _said(self._meant(facts, slots))
            elif slot in self._intent.unknown:
                told.append(f"I do not know my {spoken(slot)}.")
        return list(dict.fromkeys(told))

    def _meant(self, facts: list[Fact], slots: Sequence[str]) -> list[Fact]:
        """Of several facts of one slot those that are told in one sentence with another slot that is asked for too.

        Who is asked for name and zip code tells the one that belongs to the name, not that of a new address as well.
        """
        beside = {fact.says for fact in self._facts if fact.slot in slots and fact.slot != facts[0].slot and fact.says}
        return [fact for fact in facts if fact.says in beside] or facts

    def _remarks(self, heard: Heard) -> list[str]:
        """The remark that shares most words with a question, the first of equals; else, once, its wish again."""
        wanted = _words(heard.asks)
        best, most = "", 0
        for remark in self._intent.remarks:
            says = self._again(remark.says) if remark.says in self._intent.opening else remark.says
            shared = len(wanted & _words(remark.about or remark.says))
            if shared > most and says not in self._told:
                best, most = says, shared
        if best or not heard.asks or heard.asks_yes:
            return [best] if best else []
        wish = self._again(self._intent.opening)
        return [wish] if wish not in self._told else []

    def _again(self, words: str) -> str:
        return f"As I said: {words}"

    def _tell(self, heard: Heard, told: list[str]) -> str:
        new = [words for words in told if words not in self._told]
        self._told.update(told)
        self._idle = 0 if new else self._idle + 1
        if self._idle >= self._patience:
            return self._leave(Termination.OUT_OF_SCOPE, "I have already told you all I know.")
        if heard.asks_yes:
            told = [self._decide(heard), *told]
        return " ".join(told)

    def _wait(self, heard: Heard) -> str:
        """Nothing to tell: go along for a while, then leave."""
        self._idle += 1
        if self._idle >= self._patience:
            if heard.asks:
                return self._leave(Termination.OUT_OF_SCOPE, _UNCLEAR)
            return self._leave(Termination.USER_STOP, self._intent.closing)
        if heard.asks:
            return _UNCLEAR
        return f"{_THANKS} {_GO_ON}" if heard.reports else _GO_ON

    # What it wants.

    def _due_change(self, heard: Heard, telling: bool) -> Change | None:
        if not self._changes:
            return None
        change = self._changes[0]
        if change.when == "turn":
            due = self._replies >= change.turn
        elif change.when == "confirm":
            due = bool(heard.asks_yes)
        else:
            due = heard.closes or (heard.reports and not heard.asks_yes and not telling and not heard.refuses)
        return self._changes.pop(0) if due else None

    def _turn(self, change: Change) -> list[str]:
        """Take a change to heart; what it says."""
        replaced = {fact.slot for fact in change.facts}
        if change.kind == "drift":
            self._taken_back += [(fact, change) for fact in self._facts if fact.slot in replaced]
            self._facts = [fact for fact in self._facts if fact.slot not in replaced]
        self._facts += change.facts
        return [change.says]

    def _decide(self, heard: Heard) -> str:
        """Yes, unless the proposal names a value that was taken back, without the one in its place."""
        self._idle = 0
        text = heard.text.lower()
        for fact, change in self._taken_back:
            current = [spell(new.value).lower() for new in change.facts if new.slot == fact.slot]
            if _names(text, spell(fact.value).lower()) and not any(_names(text, value) for value in current):
                return f"No. {' '.join(_said(change.facts))}"
        return _YES if self._intent.accepts else _NO

    def _leave(self, ending: Termination, words: str) -> str:
        self.left = ending
        return words

    # What it does with its own hands.

    async def _do(self, heard: Heard) -> tuple[tuple[ToolCall, ...], tuple[ToolMessage, ...]]:
        """Use the tools that the agent asks for by name or in words, in the order of the text."""
        if self._hands is None:
            return (), ()
        calls: list[ToolCall] = []
        results: list[ToolMessage] = []
        for tool in _tools_asked_for(f"{heard.asks} {heard.asks_yes}", self._hands.tools):
            arguments = self._arguments(tool, heard.text)
            if arguments is not None:
                call = ToolCall(name=tool.name, arguments=arguments)
                calls.append(call)
                results.append(await self._hands.use(call))
        return tuple(calls), tuple(results)

    def _arguments(self, tool: ToolSpec, text: str) -> dict[str, Any] | None:
        """From the user's own reference action of this tool, else from facts; None where one is missing.

        Of several such actions it is the one of which the agent names most values, the first of equals.
        """
        own = [action.arguments for action in self._own_actions if action.name == tool.name]
        if own:
            lowered = text.lower()
            return max(own, key=lambda one: sum(_names(lowered, spell(value).lower()) for value in one.values()))
        facts = {fact.slot: fact.value for fact in self._facts}
        required = tool.parameters.get("required", [])
        return {name: facts[name] for name in required} if all(name in facts for name in required) else None


class ScriptedSimulator:
    """Makes scripted users."""

    def __init__(self, *, patience: int = PATIENCE, label: str = "scripted") -> None:
        self.label = label
        self._patience = patience

    def identity(self) -> dict[str, Any]:
        """The rules by their versions."""
        return {"user": "scripted", "version": VERSION, "derivation": intents.VERSION, "patience": self._patience}

    def user(self, part: Part) -> ScriptedUser:
        """The user of one trial; trials and seeds make no difference."""
        return ScriptedUser(part.task, hands=part.hands, patience=self._patience)

    async def aclose(self) -> None:
        """Nothing to release."""


def build(config: ModelConfig, context: ModelContext) -> ScriptedSimulator:
    """Build ``scripted`` or ``scripted?patience=5``.

    Raises:
        UsageError: an unknown option, or patience that is no number from 1.
    """
    del context
    options = config.options()
    patience = options.pop("patience", str(PATIENCE))
    if options:
        raise UsageError(f"user {config.spec!r}: unknown option {', '.join(options)}; known: patience")
    if not patience.isdigit() or int(patience) < 1:
        raise UsageError(f"user {config.spec!r}: patience should be a whole number from 1, not {patience!r}")
    return ScriptedSimulator(patience=int(patience), label=config.spec)


def _said(facts: Iterable[Fact]) -> list[str]:
    """The sentences that tell facts; values of one slot without sentences of their own are told in one."""
    together: dict[str, list[Any]] = {}
    own: list[str] = []
    for fact in facts:
        if fact.says:
            own.append(fact.says)
        else:
            together.setdefault(fact.slot, []).append(fact.value)
    made = [answer(slot, values[0] if len(values) == 1 else values) for slot, values in together.items()]
    return [*made, *own]


def _names(text: str, value: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(value)}(?!\w)", text) is not None


def _words(text: str) -> set[str]:
    """Words that carry meaning, without common endings."""
    found = re.findall(r"[a-z][a-z'-]+|\d+", text.lower())
    return {re.sub(r"(ing|ed|es|s)$", "", word) for word in found if word not in _EMPTY_WORDS}


def _tools_asked_for(text: str, tools: Sequence[ToolSpec]) -> list[ToolSpec]:
    """Tools whose name, or all of whose name's words, stand in a text; in the order of the text.

    Looking may be asked for without the word for it ("what does the status bar show?"); doing may not, so that talk
    about mobile data never toggles it.
    """
    lowered = text.lower()
    # A tool that is named is the one that is meant, and the words in its name mean no other.
    named = {tool.name: lowered.index(tool.name.lower()) for tool in tools if _names(lowered, tool.name.lower())}
    rest = lowered
    for name in named:
        rest = re.sub(rf"(?<!\w){re.escape(name.lower())}(?!\w)", " " * len(name), rest)
    words = _words(_SWITCHES.sub("toggle", rest))
    found: list[tuple[int, ToolSpec]] = []
    for tool in tools:
        telling = _words(_LOOKS.sub("", tool.name).replace("_", " "))
        if tool.name in named:
            found.append((named[tool.name], tool))
        elif telling and telling <= words:
            found.append((min(rest.find(word) for word in telling), tool))
    return [tool for _, tool in sorted(found, key=lambda pair: pair[0])]
