"""How far the reference agent has come in one live conversation, and what it does next; read off the history alone.

Any history will do, also one that another agent made. A reference action is done when a call equals it, whatever came
of the call, and in whatever order; calls that equal none change nothing. What comes next is the first action that is
not done. A text is taken for what it says: where it is what the reference itself would have said, for just that; in
other words it counts only as far as there is no doubt, so that the reference rather asks once more than it does
something that nobody has agreed to, or with a value that nobody has named.

Everything that it says or does is bounded but the last words: each action is called once, each value asked for once,
each change proposed twice. So whoever acted before, a conversation that it goes on with comes to an end.

Non-goals: understanding free talk, and putting right what a wrong change has done.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import msgspec

from turngap.config import MatchConfig
from turngap.data import (
    Action,
    AssistantMessage,
    Message,
    Scenario,
    SystemMessage,
    Task,
    ToolCall,
    ToolMessage,
    ToolSpec,
    UserMessage,
)
from turngap.data.arguments import leaves
from turngap.data.asking import ANYTHING_ELSE, GO_AHEAD, HANDED_OVER, asked, question, spell, spoken
from turngap.data.task import hands_over, is_write
from turngap.metrics.matching import Matcher

GREETING = "Hello, how can I help you?"
"""What an agent says that is to speak first."""
REFUSAL = "I am sorry, but I cannot do what you ask for."
"""What an agent says that does not do what the user wants."""

_PROPOSALS = 2
"""How often a change is described before it is made without a yes."""
_MOST_WORDS = 8
"""Of a value that a user is asked for; what is longer, the agent words itself."""
_OWN = frozenset({"summary", "expression", "thought"})
"""Arguments that the agent makes up, whatever the user knows."""
_YES = re.compile(
    r"\W*(yes|yeah|yep|sure|ok|okay|correct|right|go ahead|please do|confirmed|absolutely)\b", re.IGNORECASE
)

Errs = Callable[[str, int], bool]
"""Whether an agent fails at ``("action", index)`` or ``("fact", index)`` of a task."""


def never(_what: str, _index: int) -> bool:
    """An agent without failures."""
    return False


def wrong_name(name: str, taken: Iterable[str]) -> str:
    """The name of a tool that does not exist, made from one that does."""
    known = {*taken, name}
    made = f"{name}_unknown"
    while made in known:
        made += "_"
    return made


class _Said(msgspec.Struct, frozen=True, kw_only=True):
    """What a text of the agent wants from the user."""

    own: bool = True
    """Whether it is in the words of the reference."""
    asks: tuple[tuple[str, Any], ...] = ()
    """Values that it asks for, each with its slot."""
    proposes: tuple[int, ...] = ()
    """Changes that it describes, so that a yes agrees to them."""
    first: bool = False
    """Whether it proposes what the user wants before they change their mind."""
    requests: tuple[int, ...] = ()
    """What it has the user do with their own tools."""


class Course:
    """How far the reference has come in one conversation.

    Args:
        task: its reference actions; what stands in `Task.given` is known and no part of the work.
        tools: the agent's; their schemas say which calls are equal.
        errs: where the agent fails instead. Its own failures count as what it should have done.
    """

    def __init__(self, task: Task, tools: Sequence[ToolSpec], errs: Errs = never) -> None:
        self._task = task
        self._actions = task.criteria.actions
        self._tools = tools
        self._errs = errs
        self._matchers: dict[tuple[str, tuple[str, ...] | None], Matcher] = {}
        self._done: set[int] = set()
        self._early: list[int | None] = []
        self._heard: list[str] = []
        self._folded: list[str] = []
        for message in task.given:
            if not isinstance(message, SystemMessage):
                self._take_in(message.content)
        self._user_spoke = any(isinstance(message, UserMessage) for message in task.given)
        self._said = _Said()
        self._asked: set[tuple[str, str]] = set()
        self._in_vain = False
        self._proposals: Counter[int] = Counter()
        self._agreed: set[int] = set()
        self._first_proposals = 0

    def next(self) -> AssistantMessage:
        """What to say or do now."""
        return self._next()[0]

    def differs(self, message: AssistantMessage) -> bool:
        """Whether a decision is another one than `next`.

        It is when it is of the other kind, when its calls are others (in normal form, and as far as the arguments
        count), or when it is empty. Two texts never differ.
        """
        told = self.next()
        if not message.calls:
            return bool(told.calls) or not message.content.strip()
        return not told.calls or len(message.calls) > 1 or not self._does(message.calls[0], self._at())

    def follow(self, message: Message) -> None:
        """Take in what was said or done, by whomever."""
        if isinstance(message, AssistantMessage):
            if message.calls:
                self._early = [self._tick(call) for call in message.calls]
            elif self._user_spoke:
                self._say(message.content)
        elif not isinstance(message, SystemMessage):
            self._take_in(message.content)
            if isinstance(message, UserMessage):
                self._user_spoke = True
                self._reply(message.content)
            else:
                self._result(message)

    # What comes next.

    def _next(self) -> tuple[AssistantMessage, _Said]:
        at = self._at()
        if not self._user_spoke:
            return AssistantMessage(content=GREETING), _Said()
        if at == len(self._actions):
            return AssistantMessage(content=" ".join(self._last_words())), _Said()
        action = self._actions[at]
        if action.requestor == "user":
            return AssistantMessage(content=_request(action)), _Said(requests=(at,))
        if self._waits_for_more(at):
            return AssistantMessage(content=ANYTHING_ELSE), _Said()
        if first := self._wanted_first(action):
            return AssistantMessage(content=_proposal(first)), _Said(first=True)
        if lacking := self._lacking(action):
            slots = list(dict.fromkeys(slot for slot, _ in lacking))
            return AssistantMessage(content=question(slots)), _Said(asks=tuple(lacking))
        if is_write(action.name) and at not in self._agreed and self._proposals[at] < _PROPOSALS:
            return AssistantMessage(content=_proposal(action)), _Said(proposes=(at,))
        return AssistantMessage(calls=(self._call(at),)), _Said()

    def _at(self) -> int:
        """The first action that is not done; their number where all are."""
        return next((index for index in range(len(self._actions)) if index not in self._done), len(self._actions))

    def _call(self, index: int) -> ToolCall:
        """How this agent does an action."""
        action = self._actions[index]
        if is_write(action.name) and self._errs("action", index):
            name = wrong_name(action.name, [tool.name for tool in self._tools])
            return ToolCall(name=name, arguments=action.arguments)
        return action.call()

    def _waits_for_more(self, at: int) -> bool:
        """Whether the next action is of a wish that the user has yet to come up with."""
        added = self._task.made.get("added_from")
        return isinstance(added, int) and at >= added and not self._heard_of("addition")

    def _wanted_first(self, action: Action) -> Action | None:
        """What the user wants before they change their mind, where it is time to propose something."""
        first = self._task.made.get("first")
        if not first or self._first_proposals >= _PROPOSALS or self._heard_of("drift"):
            return None
        due = is_write(action.name) or self._lacking(action)
        return Action(name=first[0]["name"], arguments=first[0]["arguments"]) if due else None

    def _last_words(self) -> Iterator[str]:
        criteria = self._task.criteria
        facts = [fact for index, fact in enumerate(criteria.communicate) if not self._errs("fact", index)]
        if facts:
            yield f"For your information: {'; '.join(facts)}."
        if criteria.actions and hands_over(criteria.actions[-1].name):
            yield HANDED_OVER
        elif self._task.scenario is Scenario.INFEASIBLE:
            yield REFUSAL
        else:
            yield ANYTHING_ELSE

    # What was done.

    def _tick(self, call: ToolCall) -> int | None:
        """Tick off the first action that a call does; the action's index where it is not its turn yet."""
        at = self._at()
        index = next((i for i in range(at, len(self._actions)) if i not in self._done and self._does(call, i)), None)
        if index is None:
            return None
        self._done.add(index)
        return None if index == at else index

    def _does(self, call: ToolCall, index: int) -> bool:
        """Whether a call is what this agent would do an action with."""
        action, own = self._actions[index], self._call(index)
        if action.requestor == "user" or call.name != own.name:
            return False
        if action.compare_args == () or call.arguments is own.arguments:
            # Any call of the tool is meant, also one whose arguments cannot be read; or it is the reference's very own,
            # which is most of them, and reading schemas takes far longer than all else here.
            return True
        key = (own.name, action.compare_args)
        if key not in self._matchers:
            compared = {} if action.compare_args is None else {own.name: action.compare_args}
            self._matchers[key] = Matcher(self._tools, MatchConfig(), compared)
        return self._matchers[key].same(call, own)

    def _result(self, message: ToolMessage) -> None:
        """A call that was refused because it came too early will be made again in its turn."""
        early = self._early.pop(0) if self._early else None
        if early is not None and message.error:
            self._done.discard(early)

    # What was said.

    def _say(self, text: str) -> None:
        own, said = self._next()
        if own.calls or own.content != text:
            said = self._understood(text)
        else:
            self._asked |= {(slot, spell(value)) for slot, value in said.asks}
            self._proposals.update(said.proposes)
            self._first_proposals += said.first
        self._done |= {*said.requests}
        self._said = said

    def _understood(self, text: str) -> _Said:
        """What a text in other words than the reference's wants from the user."""
        folded = text.casefold()
        at = self._at()
        lacking = []
        if at < len(self._actions) and self._actions[at].requestor == "assistant":
            lacking = self._lacking(self._actions[at])
        slots = asked(text, dict.fromkeys(slot for slot, _ in lacking))
        return _Said(
            own=False,
            asks=tuple((slot, value) for slot, value in lacking if slot in slots),
            proposes=tuple(self._described(folded)),
            requests=tuple(self._for_the_user(lambda name: _stands(name.casefold(), folded))),
        )

    def _described(self, text: str) -> Iterator[int]:
        """The changes to come of which a text has all values, and that it does not call by another's name."""
        words = {*re.findall(r"\w+", text)}
        named = {tool.name for tool in self._tools if is_write(tool.name) and _name_in_words(tool.name) <= words}
        for index, action in enumerate(self._actions):
            if index in self._done or action.requestor == "user" or not is_write(action.name):
                continue
            values = {*_values(action)}
            # One value alone may be asked about for many a reason.
            telling = action.name in named or (
                not named and (len(values) > 1 or (values and GO_AHEAD.casefold() in text))
            )
            if telling and all(_stands(value, text) for value in values):
                yield index

    def _for_the_user(self, meant: Callable[[str], bool]) -> Iterator[int]:
        """Of each tool of the user's that is meant the first action that is not done."""
        seen: set[str] = set()
        for index, action in enumerate(self._actions):
            if index not in self._done and action.requestor == "user" and action.name not in seen:
                seen.add(action.name)
                if meant(action.name):
                    yield index

    def _reply(self, text: str) -> None:
        """Take in the user's answer to what the agent said last."""
        said = self._said
        if said.asks and said.own:
            self._in_vain = not any(self._known(value) for _, value in said.asks)
        elif said.asks:
            # A question in other words may not have been understood; what is answered need not be asked for again.
            folded = text.casefold()
            self._asked |= {(slot, spell(value)) for slot, value in said.asks if spell(value).casefold() in folded}
        if said.proposes:
            self._in_vain = False
            if _YES.match(text):
                self._agreed.update(said.proposes)
            else:
                self._agreed.difference_update(said.proposes)
        if not said.own and not said.requests:
            # A user who understood it in other words tells what the tool showed under the tool's name.
            self._done |= {*self._for_the_user(lambda name: f"{name}: " in text)}
        self._said = msgspec.structs.replace(said, asks=())

    def _take_in(self, text: str) -> None:
        self._heard.append(text)
        self._folded.append(text.casefold())

    def _heard_of(self, kind: str) -> bool:
        changes = self._task.intent.changes if self._task.intent is not None else ()
        return any(change.says in text for change in changes if change.kind == kind for text in self._heard)

    # What is known.

    def _lacking(self, action: Action) -> list[tuple[str, Any]]:
        """Values of an action that nobody has named and that the user may know.

        After a question that brought nothing the agent asks for no more until the user has said yes to something: a
        user who is asked in vain again and again leaves.
        """
        if self._in_vain:
            return []
        return [
            (slot, value)
            for slot, value in leaves(action.arguments)
            if slot not in _OWN and (slot, spell(value)) not in self._asked and not self._clear(slot, value)
        ]

    def _clear(self, slot: str, value: Any) -> bool:
        """Whether the user need not be asked for a value.

        One that the user withholds is asked for although a result has it, since it has others too; one that was told in
        other words is not.
        """
        if self._task.intent is None:
            return self._known(value)
        facts = [*self._task.intent.facts]
        facts += [fact for change in self._task.intent.changes if self._heard_of(change.kind) for fact in change.facts]
        own = [fact for fact in facts if fact.slot == slot and _holds(fact.value, value)]
        if any(fact.told or (fact.says and any(fact.says in text for text in self._heard)) for fact in own):
            return True
        withheld = bool(own) and self._task.scenario is Scenario.AMBIGUOUS
        return self._known(value) and not (withheld and own[0].says)

    def _known(self, value: Any) -> bool:
        if value is None or value == "" or isinstance(value, bool):
            return True
        words = spell(value)
        return len(words.split()) > _MOST_WORDS or any(words.casefold() in text for text in self._folded)


def _holds(told: Any, value: Any) -> bool:
    return told == value or (isinstance(told, (list, dict)) and any(value == leaf for _, leaf in leaves(told)))


def _values(action: Action) -> Iterator[str]:
    """The values of an action that a text can be expected to have, in lower case."""
    for slot, value in leaves(action.arguments):
        words = "" if value is None or isinstance(value, bool) else spell(value)
        if words and slot not in _OWN and len(words.split()) <= _MOST_WORDS:
            yield words.casefold()


def _name_in_words(name: str) -> set[str]:
    return {*re.findall(r"\w+", spoken(name).casefold())}


def _stands(words: str, text: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(words)}(?!\w)", text) is not None


def _proposal(action: Action) -> str:
    told = "; ".join(f"{spoken(slot)} {spell(value)}" for slot, value in action.arguments.items())
    return f"This is what I would do: {spoken(action.name)}, with {told or 'nothing else'}.\n{GO_AHEAD}"


def _request(action: Action) -> str:
    """Words that have the user use a tool of their own."""
    told = ", ".join(f"{spoken(slot)} {spell(value)}" for slot, value in action.arguments.items())
    return f"Please use {action.name}{f' with {told}' if told else ''} and tell me what you see."
