"""Baselines of live conversations: agents of known quality that need no language model.

* ``baseline/reference`` does the reference actions of the task through real conversation: it asks for values that
  nobody has named yet, describes every change and waits for a yes, says the facts that have to be said, and closes.
* ``baseline/noisy?p_tool=0.9&p_text=0.8&seed=1`` does so with gaps: each reference action that changes something is
  done with probability `p_tool`, otherwise a tool that does not exist is called in its place; each fact is said with
  probability `p_text`, otherwise left out. A trial of a task with w changes and f facts succeeds with probability
  p_tool^w * p_text^f, independently of the others, so that pass^k can be held against a closed form. (Where a change
  has no effect in the end, or a fact is said on the way, it succeeds more often.)
* ``baseline/nothing`` never calls a tool and closes at once; ``baseline/transfer`` refuses and hands everybody over.
  What they reach is the floor of a task set.

What `reference` knows comes from `Seat.task`; what it has done so far, it reads off the history, so it keeps nothing
between requests. Where a synthesised task says what the user wants first, and at which action another wish begins
(`Task.made`), it proposes the first and waits for the other, as an agent would who does not know the task.

It is no contestant, and it works around nothing: where a user does not answer a question, or does not say yes when
asked twice, it goes on as the reference does.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from turngap.data import (
    Action,
    AssistantMessage,
    Message,
    Prediction,
    Scenario,
    SystemMessage,
    Task,
    ToolCall,
    ToolSpec,
    UserMessage,
)
from turngap.data.asking import ANYTHING_ELSE, GO_AHEAD, HANDED_OVER, question, spell, spoken
from turngap.data.task import hands_over, is_write
from turngap.models.base import Request

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


def act(request: Request, errs: Errs = never) -> Prediction:
    """What the reference does next in a rollout.

    Args:
        request: its seat names the task.
        errs: where to fail instead.
    """
    task = request.seat.task
    if task is None:
        return Prediction(message=AssistantMessage(content=ANYTHING_ELSE))
    course = _Course(task, request.tools, errs)
    for message in request.messages[len(task.given) :]:
        course.follow(message)
    return Prediction(message=course.next())


def wrong_name(name: str, taken: Iterable[str]) -> str:
    """The name of a tool that does not exist, made from one that does."""
    known = {*taken, name}
    made = f"{name}_unknown"
    while made in known:
        made += "_"
    return made


class _Course:
    """How far the reference has come in one conversation."""

    def __init__(self, task: Task, tools: Sequence[ToolSpec], errs: Errs) -> None:
        self._task = task
        self._tools = [tool.name for tool in tools]
        self._errs = errs
        self._at = 0
        self._heard = [message.content for message in task.given if not isinstance(message, SystemMessage)]
        self._user_spoke = any(isinstance(message, UserMessage) for message in task.given)
        self._asked: set[tuple[str, str]] = set()
        self._asking: list[tuple[str, Any]] = []
        self._in_vain = False
        self._proposals = 0
        self._agreed = False
        self._first_proposals = 0

    def next(self) -> AssistantMessage:
        """What to say or do now."""
        if not self._user_spoke:
            return AssistantMessage(content=GREETING)
        if self._at >= len(self._task.criteria.actions):
            return AssistantMessage(content=" ".join(self._last_words()))
        action = self._task.criteria.actions[self._at]
        if action.requestor == "user":
            return AssistantMessage(content=_request(action))
        if self._waits_for_more():
            return AssistantMessage(content=ANYTHING_ELSE)
        if first := self._wanted_first(action):
            return AssistantMessage(content=_proposal(first))
        if lacking := self._lacking(action):
            return AssistantMessage(content=question(list(dict.fromkeys(slot for slot, _ in lacking))))
        if is_write(action.name) and not self._agreed and self._proposals < _PROPOSALS:
            return AssistantMessage(content=_proposal(action))
        name = action.name
        if is_write(name) and self._errs("action", self._at):
            name = wrong_name(name, self._tools)
        return AssistantMessage(calls=(ToolCall(name=name, arguments=action.arguments),))

    def follow(self, message: Message) -> None:
        """Take in what was said or done: of the agent's own messages, what `next` would have given."""
        if not isinstance(message, AssistantMessage):
            self._hear(message)
        elif self._user_spoke and self._at < len(self._task.criteria.actions):
            self._did(self._task.criteria.actions[self._at], message)

    def _did(self, action: Action, message: AssistantMessage) -> None:
        if message.calls or action.requestor == "user":
            self._at += 1
            self._proposals, self._agreed = 0, False
        elif self._waits_for_more():
            pass
        elif self._wanted_first(action):
            self._first_proposals += 1
        elif lacking := self._lacking(action):
            self._asking = lacking
            self._asked |= {(slot, spell(value)) for slot, value in lacking}
        else:
            self._proposals += 1

    def _hear(self, message: Message) -> None:
        if isinstance(message, SystemMessage):
            return
        self._heard.append(message.content)
        if isinstance(message, UserMessage):
            self._user_spoke = True
            if self._asking:
                self._in_vain = not any(self._known(value) for _, value in self._asking)
                self._asking = []
            elif self._proposals:
                self._in_vain = False
                self._agreed = _YES.match(message.content) is not None

    def _waits_for_more(self) -> bool:
        """Whether the next action is of a wish that the user has yet to come up with."""
        return self._task.made.get("added_from") == self._at and not self._heard_of("addition")

    def _wanted_first(self, action: Action) -> Action | None:
        """What the user wants before they change their mind, where it is time to propose something."""
        first = self._task.made.get("first")
        if not first or self._first_proposals >= _PROPOSALS or self._heard_of("drift"):
            return None
        due = is_write(action.name) or self._lacking(action)
        return Action(name=first[0]["name"], arguments=first[0]["arguments"]) if due else None

    def _heard_of(self, kind: str) -> bool:
        changes = self._task.intent.changes if self._task.intent is not None else ()
        return any(change.says in text for change in changes if change.kind == kind for text in self._heard)

    def _lacking(self, action: Action) -> list[tuple[str, Any]]:
        """Values of an action that nobody has named and that the user may know.

        After a question that brought nothing the agent asks for no more until the user has said yes to something: a
        user who is asked in vain again and again leaves.
        """
        if self._in_vain:
            return []
        return [
            (slot, value)
            for slot, value in _leaves(action.arguments)
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
        return len(words.split()) > _MOST_WORDS or any(words.casefold() in text.casefold() for text in self._heard)

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


def _leaves(value: Any, slot: str = "") -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _leaves(item, key)
    elif isinstance(value, list):
        for item in value:
            yield from _leaves(item, slot)
    else:
        yield slot, value


def _holds(told: Any, value: Any) -> bool:
    return told == value or (isinstance(told, (list, dict)) and any(value == leaf for _, leaf in _leaves(told)))


def _proposal(action: Action) -> str:
    told = "; ".join(f"{spoken(slot)} {spell(value)}" for slot, value in action.arguments.items())
    return f"This is what I would do: {spoken(action.name)}, with {told or 'nothing else'}.\n{GO_AHEAD}"


def _request(action: Action) -> str:
    """Words that have the user use a tool of their own."""
    told = ", ".join(f"{spoken(slot)} {spell(value)}" for slot, value in action.arguments.items())
    return f"Please use {action.name}{f' with {told}' if told else ''} and tell me what you see."


class Nothing:
    """Says good-bye without having done anything."""

    def __init__(self, label: str = "baseline/nothing") -> None:
        self.label = label

    def identity(self) -> dict[str, Any]:
        """Its name is all there is."""
        return {"model": "baseline/nothing"}

    async def act(self, request: Request) -> Prediction:  # noqa: ARG002 - the seam's signature
        """Answer whatever it is asked with the same words."""
        return Prediction(message=AssistantMessage(content=ANYTHING_ELSE))

    async def aclose(self) -> None:
        """Nothing to release."""


class Transfer:
    """Refuses and hands the user over to a person, by the domain's tool for that where it has one."""

    def __init__(self, label: str = "baseline/transfer") -> None:
        self.label = label

    def identity(self) -> dict[str, Any]:
        """Its name is all there is."""
        return {"model": "baseline/transfer"}

    async def act(self, request: Request) -> Prediction:
        """Hand over at once, then say so."""
        tool = next((tool for tool in request.tools if hands_over(tool.name)), None)
        called = any(isinstance(message, AssistantMessage) and message.calls for message in request.messages)
        if tool is None or called:
            return Prediction(message=AssistantMessage(content=f"{REFUSAL} {HANDED_OVER}"))
        call = ToolCall(name=tool.name, arguments=dict(_fillers(tool)))
        return Prediction(message=AssistantMessage(calls=(call,)))

    async def aclose(self) -> None:
        """Nothing to release."""


def _fillers(tool: ToolSpec) -> Iterator[tuple[str, Any]]:
    """A value for each argument that has to be given: the first allowed one, or a few words."""
    properties = tool.parameters.get("properties", {})
    for name in tool.parameters.get("required", ()):
        choices = properties.get(name, {}).get("enum")
        yield name, choices[0] if choices else "The user asks for something that I do not do."
