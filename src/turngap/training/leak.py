"""Whether conversations that are to be learnt from hold what is evaluated on, and which of them do.

A conversation leaks when it is a trial of an evaluated task or bears the id of an evaluated conversation, or when its
words are a copy or nearly a copy of an evaluated one's (`turngap.metrics.contamination`). What both sides have by
nature counts for nothing: policies, tool specifications, and phrases that many evaluated ones share. Equal ids count
only where both sides have a tool in common, since every domain numbers its tasks from nought; where one side names no
tools, they count.

With one conversation all other trials of its task leak. Non-goals: paraphrases, and which side to give up.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Literal

import msgspec

from turngap import jsonio
from turngap.data import AssistantMessage, Conversation
from turngap.metrics.contamination import Document, contamination, entities
from turngap.training.making import document, group_of, task_of


class Item(msgspec.Struct, frozen=True, kw_only=True):
    """An evaluated task or conversation."""

    ids: frozenset[str]
    """What it is called: its own id, and that of the task it is a trial of."""
    name: str
    """The id that people are told."""
    text: str
    """What tells it from others."""
    tools: frozenset[str] = frozenset()
    """Names of tools that it uses or has; empty where that is not known."""


class Evaluated(msgspec.Struct, frozen=True, kw_only=True):
    """An evaluation set."""

    name: str
    """Its file, for the person."""
    items: tuple[Item, ...]
    common: frozenset[str] = frozenset()
    """Policies and tool specifications, which everybody shares."""


class Leak(msgspec.Struct, frozen=True, kw_only=True):
    """A conversation that may not be learnt from."""

    conversation: str
    evaluated: str
    """Id of the evaluated task or conversation that it holds."""
    where: str
    """The evaluation set."""
    kind: Literal["id", "copy", "near", "trial"]
    """``trial``: another trial of the same task leaks."""
    share: float = 1.0
    """Of the evaluated one's own runs of words, for ``near``."""
    shown: str = ""
    """The longest stretch that both have, for readers."""

    def sentence(self) -> str:
        """Why it may not be learnt from."""
        what = {
            "id": "is, by its id,",
            "copy": "is a copy of",
            "near": f"holds {self.share:.0%} of",
            "trial": "is another trial of what holds",
        }[self.kind]
        return f"{what} {self.evaluated} of {self.where}{f': {self.shown}' if self.shown else ''}"


class Checked(msgspec.Struct, frozen=True, kw_only=True):
    """What was found in holding conversations against one evaluation set."""

    name: str
    evaluated: int
    leaks: tuple[Leak, ...]
    """In the order of the conversations; at most one for each."""
    entities: int
    """Ids and addresses that stand on both sides: of people and orders in one database, say."""

    def sentence(self) -> str:
        """In words, for the manifest."""
        held = Counter(leak.kind for leak in self.leaks)
        kinds = ", ".join(f"{count} by {kind}" for kind, count in held.items())
        found = f"{len(self.leaks)} conversations left out ({kinds})" if self.leaks else "none found in it"
        return f"{self.evaluated} tasks or conversations, {found}; {self.entities} ids or addresses on both sides"


def of_conversations(name: str, conversations: Iterable[Conversation]) -> Evaluated:
    """Recorded conversations as an evaluation set."""
    items = []
    common: set[str] = set()
    for one in conversations:
        common |= _common(one)
        items.append(Item(ids=_ids(one), name=one.id, text=document(one).text, tools=_tools(one)))
    return Evaluated(name=name, items=tuple(items), common=frozenset(common))


def check(conversations: Sequence[Conversation], evaluated: Evaluated) -> Checked:
    """Hold conversations that are to be learnt from against an evaluation set."""
    found = {leak.conversation: leak for leak in _by_id(conversations, evaluated)}
    common = evaluated.common | {text for one in conversations for text in _common(one)}
    while True:
        groups = {group_of(one): found[one.id] for one in reversed(conversations) if one.id in found}
        for one in conversations:
            first = groups.get(group_of(one))
            if first is not None and one.id not in found:
                found[one.id] = msgspec.structs.replace(first, conversation=one.id, kind="trial", share=1.0, shown="")
        # An evaluated one is matched with the one conversation that holds most of it: what is left is looked at again.
        left = [one for one in conversations if one.id not in found]
        more = _by_words(left, evaluated, common)
        if not more:
            break
        found |= more
    known = {entity for one in conversations for entity in entities(document(one).text)}
    shared = known & {entity for item in evaluated.items for entity in entities(item.text)}
    leaks = tuple(found[one.id] for one in conversations if one.id in found)
    return Checked(name=evaluated.name, evaluated=len(evaluated.items), leaks=leaks, entities=len(shared))


def _by_id(conversations: Iterable[Conversation], evaluated: Evaluated) -> Iterable[Leak]:
    named: dict[str, list[Item]] = {}
    for item in evaluated.items:
        for name in item.ids:
            named.setdefault(name, []).append(item)
    for one in conversations:
        alike = (item for name in sorted(_ids(one)) for item in named.get(name, ()))
        found = next((item for item in alike if _may_be_one_domain(one, item)), None)
        if found is not None:
            yield Leak(conversation=one.id, evaluated=found.name, where=evaluated.name, kind="id")


def _may_be_one_domain(conversation: Conversation, item: Item) -> bool:
    if conversation.tools:
        tools = _tools(conversation)
        return tools <= item.tools or item.tools <= tools
    called = {call.name for one in conversation.messages if isinstance(one, AssistantMessage) for call in one.calls}
    return not called or not item.tools or not called.isdisjoint(item.tools)


def _by_words(conversations: Sequence[Conversation], evaluated: Evaluated, common: Iterable[str]) -> dict[str, Leak]:
    # Numbers for ids, so that nothing is matched by them here.
    learnt = [Document(id=f"l{at}", text=document(one).text) for at, one in enumerate(conversations)]
    tested = [Document(id=f"t{at}", text=item.text) for at, item in enumerate(evaluated.items)]
    found: dict[str, Leak] = {}
    for match in contamination(learnt, tested, common=common).matches:
        name = conversations[int(match.learnt[1:])].id
        found.setdefault(
            name,
            Leak(
                conversation=name,
                evaluated=evaluated.items[int(match.tested[1:])].name,
                where=evaluated.name,
                kind=match.kind,
                share=match.share,
                shown=match.shown,
            ),
        )
    return found


def _ids(conversation: Conversation) -> frozenset[str]:
    return frozenset(filter(None, (conversation.id, task_of(conversation))))


def _tools(conversation: Conversation) -> frozenset[str]:
    return frozenset(tool.name for tool in conversation.tools)


def _common(conversation: Conversation) -> set[str]:
    return {conversation.policy, *map(jsonio.dumps, conversation.tools)}
