"""Find what the simulated user did wrong in a finished trial, so that it is not booked on the agent.

Detectors look at the stored trajectory and the task alone, so that stored trials, and recordings of others, can be
examined again. Each yields lapses with their evidence; a trial with a lapse that was not mended is the user's error: it
is counted apart, listed, and figures are given with and without it. The detectors are strict phrases and exact
comparisons: they miss subtle lapses (a wrong preference, a changed mind), and `--user-audit` measures what that costs.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence

import msgspec

from turngap import jsonio
from turngap.data import Acted, Action, Spoken, Task, ToolCall, Trajectory, UserMessage
from turngap.data.task import is_write
from turngap.users.filler import goes_along
from turngap.users.hearing import hear
from turngap.users.lapse import Lapse, LapseKind
from turngap.users.signals import parse

_ROLE = re.compile(
    r"\bhow (can|may|could) i (be of (help|assistance|service)|help|assist|serve)\b(?! (it|them|him|her|my)\b)"
    r"|\b(what|which \w+) (can|may|could) i (help|assist) you with\b|\bwhat (can|may|could) i do for you\b"
    r"|\banything else (that )?i can (help|assist|do for you)\b|\b(how|if|what) i (can|may) (help|assist) you\b"
    # Alone or with somebody to serve: customers too are here to help their mothers.
    r"|\bi(?:'m| am) (always )?here to (help|assist|serve)(?= you\b| with (what|any)|\s*[.!,;]|\s*$)"
    r"|\b(happy|glad|delighted|pleased) to (help|assist|serve) you\b|\bi can (help|assist) you (with|find|by)\b"
    r"|\bi(?: cannot| can't|'m unable to| am unable to|'m not able to| am not able to) (help|assist) you\b"
    r"|\b(please|(can|could|would) you( please)?) (provide|share|confirm|verify|give|tell)( me)?( with)? your "
    r"(order|booking|reservation|account|user|customer|email|e-mail|phone|full name|name|zip|confirmation|membership)\b"
    r"|\bas an ai\b|language model"
    # A virtual assistant of some office and an AI researcher are people.
    r"|\bi(?:'m| am) (just |only )?an? (?:[\w-]+ ){0,3}"
    r"(?:chat ?bot|(?:virtual|digital|automated|helpful) (?:assistant|agent))\b(?! (?:at|for|in|of)\b)"
    r"|\bi(?:'m| am) (just |only |not )?an? (?:[\w-]+ ){0,3}ai\b"
    r"(?! (?!assistant|model|agent|bot|chatbot|system|and|but|so|that|or|who|which|here"
    r"|designed|created|made|built|trained|developed by)[a-z])"
    r"|\b(thank you|thanks) for (contacting|reaching out|calling|choosing)\b"
    r"|\bi(?:'ll| will) transfer you\b|\blook (that|it|this) up for you"
    r"|\bi(?:'ve| have) (processed|issued|cancell?ed|updated|initiated|submitted) your\b"
    r"|\byour (order|booking|reservation|refund|account|request) (has|have) been\b",
    re.IGNORECASE,
)
_REASONING = re.compile(
    r"</?(think|thinking|thought|reasoning)>"
    r"|\b(we|i) (need|should|must|have) (to )?(act|respond|reply|answer|behave|play) as\b"
    r"|\bso (we|i) (send|respond|reply|say):|\bso send:"
    r"|\bas the (user|customer),? (i|we) (should|need|must|have|will|am)\b"
    r"|\buser simulat|\bsimulated (user|customer)\b|\brole-?play"
    r"|(^|[.!?]\s+)the agent (is asking|asked|has asked|wants|needs|just)\b",
    re.IGNORECASE,
)
_INSTRUCTIONS = re.compile(
    r"\b(task_instructions|known_info|unknown_info|reason_for_call)\b"
    r"|\b(my|the) (instructions?|scenario|script|system prompt|guidelines|persona)"
    r" (say|says|state|states|tell|tells|require|requires|mention|mentions|do not|don't|does not|doesn't)\b",
    re.IGNORECASE,
)
_WISH = re.compile(r"\bhow (can|may) i (help|assist)\b|\bwhat can i do for you\b", re.IGNORECASE)
_DECLINES = re.compile(r"\b(no|not|don't|do not|never ?mind|cancel that|forget|leave it|stop)\b", re.IGNORECASE)
_VALUE = re.compile(
    r"[\w.+-]+@[\w-]+\.[\w.]*\w|#?\b[A-Z]*\d{5,}\b|\b(?=[A-Z0-9]*\d)(?=[A-Z0-9]*[A-Z])[A-Z0-9]{6}\b"
    r"|\b[a-z]+_[a-z]+_\d+\b|\b\d{3}-\d{3}-\d{4}\b"
)
_RECITED = 10
"""Words in a row of the instructions, as they address the user, that make a recital."""
_REPEATED = 5
"""Fewest words of a message whose repetition is a lapse; less is how people agree."""


class _Turn(msgspec.Struct, frozen=True):
    """One message of the user, and what it answers."""

    number: int
    text: str
    agent: str
    """What the agent said since the user's last message."""
    calls: tuple[ToolCall, ...]
    """What the agent had called until then."""
    seen: str
    """Results that the user's own tools gave, until then."""


def examine(
    trajectory: Trajectory, task: Task, *, noticed: Sequence[Lapse] = (), writes: Collection[str] | None = None
) -> tuple[Lapse, ...]:
    """All lapses of a trial, in the order of the turns.

    Args:
        trajectory: the finished trial.
        task: what the user was given.
        noticed: what the user noticed itself (`LiveUser.lapses`).
        writes: names of the domain's writing tools; None to tell them by their names.
    """
    turns = _turns(trajectory)
    found = [*noticed]
    mended = {(lapse.kind, lapse.turn) for lapse in noticed}
    for detector in (_ends_early(turns, task, writes), _repeats(turns), _breaks(turns, task), _invents(turns, task)):
        found += [lapse for lapse in detector if (lapse.kind, lapse.turn) not in mended]
    fault = trajectory.metadata.get("user_fault")
    if isinstance(fault, dict) and fault.get("kind") == LapseKind.EMPTY_USER:
        found.append(Lapse(kind=LapseKind.EMPTY_USER, turn=len(turns) + 1, detail=str(fault.get("detail", ""))))
    order = list(LapseKind)
    return tuple(sorted(found, key=lambda lapse: (lapse.turn, order.index(lapse.kind))))


def recital(words: str, instructions: str) -> str:
    """The first ten words in a row that a message has in common with instructions that say "you"; empty without any."""
    recitals = _recitals(instructions)
    return " ".join(next((run for run in _runs(_plain(words)) if run in recitals), ()))


def is_user_error(lapses: Iterable[Lapse]) -> bool:
    """Whether a trial with these lapses says nothing reliable about the agent."""
    return any(not lapse.mended for lapse in lapses)


def undone(task: Task, calls: Iterable[ToolCall], writes: Collection[str] | None = None) -> tuple[Action, ...]:
    """The writing actions of the reference that no call has done yet; each call does one."""
    made = list(calls)
    left: list[Action] = []
    for action in task.criteria.actions:
        writing = is_write(action.name) if writes is None else action.name in writes
        if action.requestor != "assistant" or not writing:
            continue
        match = next((call for call in made if _does(call, action)), None)
        if match is None:
            left.append(action)
        else:
            made.remove(match)
    return tuple(left)


def leaves_early(task: Task, agent: str, words: str, calls: Iterable[ToolCall], writes: Collection[str] | None) -> bool:
    """Whether leaving with `words` is the answer to a question for a yes, while the reference has writes to be done."""
    return bool(hear(agent).asks_yes) and not _DECLINES.search(words) and bool(undone(task, calls, writes))


def _does(call: ToolCall, action: Action) -> bool:
    if call.name != action.name or call.arguments is None:
        return False
    keys = action.compare_args
    wanted, given = (
        arguments if keys is None else {key: value for key, value in arguments.items() if key in keys}
        for arguments in (action.arguments, call.arguments)
    )
    return jsonio.canonical(wanted) == jsonio.canonical(given)


def _turns(trajectory: Trajectory) -> list[_Turn]:
    found: list[_Turn] = []
    agent: list[str] = []
    calls: list[ToolCall] = []
    seen = ""
    for event in trajectory.events:
        if isinstance(event, Acted):
            calls += event.message.calls
            if event.message.content and not event.message.calls:
                agent.append(event.message.content)
        elif isinstance(event, Spoken):
            seen += "".join(result.content for result in event.results)
            if isinstance(event.message, UserMessage):
                found.append(
                    _Turn(
                        number=len(found) + 1,
                        text=event.message.content,
                        agent="\n".join(agent),
                        calls=tuple(calls),
                        seen=seen,
                    )
                )
                agent = []
    return found


def _ends_early(turns: Sequence[_Turn], task: Task, writes: Collection[str] | None) -> Iterator[Lapse]:
    for turn in turns[-1:]:
        words, ending = parse(turn.text)
        if ending is not None and leaves_early(task, turn.agent, words, turn.calls, writes):
            names = ", ".join(action.name for action in undone(task, turn.calls, writes))
            detail = f"asked for a yes, it left with {_cut(turn.text)}; still to be done: {names}"
            yield Lapse(kind=LapseKind.ENDS_EARLY, turn=turn.number, detail=detail)


def _repeats(turns: Sequence[_Turn]) -> Iterator[Lapse]:
    for index, turn in enumerate(turns):
        words = _plain(parse(turn.text)[0])
        for earlier in turns[:index]:
            same = len(words) >= _REPEATED and words == _plain(parse(earlier.text)[0])
            if same and not _asked_again(turn, earlier) and not _waits(words, earlier):
                detail = f"says again, word for word, what it said in turn {earlier.number}: {_cut(turn.text)}"
                yield Lapse(kind=LapseKind.REPEATS_ITSELF, turn=turn.number, detail=detail)
                break


def _asked_again(turn: _Turn, earlier: _Turn) -> bool:
    """Whether the agent asked, so that the same answer is due; an opening answers only the question for a wish."""
    if earlier.number == 1:
        return _WISH.search(turn.agent) is not None
    heard = hear(turn.agent)
    return bool(heard.asks or heard.asks_yes)


def _waits(words: Sequence[str], earlier: _Turn) -> bool:
    """Whether words that name nothing come again; at the start, they are what the conversation begins with."""
    return earlier.number > 1 and goes_along(words)


def _breaks(turns: Sequence[_Turn], task: Task) -> Iterator[Lapse]:
    told = task.instructions
    instructions = f"{told.reason}\n{told.known}\n{told.unknown}\n{told.further}\n{task.persona}"
    for turn in turns:
        text = turn.text.replace("\u2019", "'")
        for kind, pattern in (
            (LapseKind.ROLE_BREAK, _ROLE),
            (LapseKind.REASONING_LEAK, _REASONING),
            (LapseKind.INSTRUCTIONS_LEAK, _INSTRUCTIONS),
        ):
            if match := pattern.search(text):
                yield Lapse(kind=kind, turn=turn.number, detail=f"says {_cut(text[max(match.start() - 20, 0) :])}")
        recited = recital(text, instructions)
        if recited:
            detail = f"recites its instructions: {recited}"
            yield Lapse(kind=LapseKind.INSTRUCTIONS_LEAK, turn=turn.number, detail=detail)


def _invents(turns: Sequence[_Turn], task: Task) -> Iterator[Lapse]:
    known = _letters(jsonio.dumps([task.instructions, task.persona, task.intent, task.given, task.criteria.actions]))
    heard = ""
    for turn in turns:
        heard += _letters(turn.agent)
        grounds = known + heard + _letters(turn.seen)
        invented = [value for value in _VALUE.findall(turn.text) if _letters(value) not in grounds]
        heard += _letters(turn.text)
        if invented:
            detail = f"gives {', '.join(invented)}, which neither its task nor the agent names"
            yield Lapse(kind=LapseKind.INVENTED_FACT, turn=turn.number, detail=detail)


def _recitals(text: str) -> set[tuple[str, ...]]:
    """Runs of words that speak to the user as "you"."""
    return {run for line in text.splitlines() for run in _runs(_plain(line)) if {"you", "your"} & {*run}}


def _runs(words: Sequence[str]) -> Iterator[tuple[str, ...]]:
    for start in range(len(words) - _RECITED + 1):
        yield tuple(words[start : start + _RECITED])


def _plain(text: str) -> list[str]:
    return re.findall(r"[\w#@']+", text.lower())


def _letters(text: str) -> str:
    return re.sub(r"[^a-z0-9]", "", text.lower())


def _cut(text: str, length: int = 120) -> str:
    flat = " ".join(text.split())
    return f'"{flat}"' if len(flat) <= length else f'"{flat[:length].rstrip()}..."'
