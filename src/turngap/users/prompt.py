"""What a language model is told that plays the user: the rules of the play, then the task's own words or intent."""

from __future__ import annotations

from turngap.data import Change, Fact, Intent, Scenario, Task
from turngap.data.asking import answer
from turngap.users.signals import OUT_OF_SCOPE, STOP, TRANSFER

VERSION = 1
"""Raised when the wording changes."""

NEUTRAL = "Hello, how can I help you?"
"""What the model is shown as the agent's first words, so that its own opening always stands behind something."""
ASK_AGAIN = "(Nothing arrived. Write the customer's next message, in plain words.)"
"""What it is asked with after an empty reply."""

_RULES = f"""\
You play a customer who has contacted a service desk. The messages you receive are the service agent's; you write the \
customer's side, and only that.

How to play
- Write one message at a time, short and natural, as the customer would, and then wait.
- Everything you say comes from the description below. What it does not tell, you do not know: say so, and never make \
up names, numbers, addresses or preferences.
- Put things in your own words. Never quote the description, speak of it, or let on that this is a play.
- You are never the agent: do not offer help, look anything up, or announce that something was done.
- Write nothing but the message itself: no thoughts, no plans, no stage directions.
- When the agent asks you to confirm something and it is what you want, say yes and wait until it is done. If it is \
not, say what is different.

How to end
- When all you came for is done, or you have accepted that it cannot be done, end with {STOP}. Not in the same \
message in which you agree to something: what you agree to still has to be done.
- When the agent has said that a person takes over, answer with {TRANSFER}.
- When the description gives you nothing to go on any more, answer with {OUT_OF_SCOPE}."""

_HANDS = """\

Your own tools
- You have tools for what you can do yourself. Use one when the agent asks you to, or when only it can answer the \
agent's question; one step at a time.
- Never make up what a tool would show: use it, then tell what it showed. The agent does not see your tools."""

_TELLING = {
    Scenario.GENERAL: "Tell what the agent needs when it asks; you need not say everything at once.",
    Scenario.AMBIGUOUS: "Begin vaguely. Hold every detail back until the agent asks for exactly that detail.",
    Scenario.CHANGING: "You will change course on the way, as described; not before its time.",
    Scenario.INFEASIBLE: "What you want may be refused. Do not give in at once: insist as described, then accept.",
}
_WHEN = {
    "confirm": "the first time the agent asks you for a yes",
    "done": "when the agent says that it is done",
}


def system_text(task: Task, *, hands: bool = False) -> str:
    """The whole instruction for one task."""
    parts = [_RULES]
    if hands:
        parts.append(_HANDS)
    parts.append(f"\nThis time\n- {_TELLING[task.scenario]}")
    if task.persona:
        parts.append(f"\nWho you are\n{task.persona.strip()}")
    told = task.instructions.text()
    if told:
        parts.append(f"\n{told}")
    if task.intent is not None:
        parts.append(_intent(task.intent))
    return "\n".join(parts)


def _intent(intent: Intent) -> str:
    """A structured intent in words."""
    blocks: list[tuple[str, list[str]]] = [
        ("What you can tell, each only when asked for it", [_told(fact) for fact in intent.facts]),
        ("What you do not know", [slot.replace("_", " ") for slot in intent.unknown]),
        ("Further, where it fits a question", [remark.says for remark in intent.remarks]),
        ("How you change course", [_change(change) for change in intent.changes]),
        ("What you say to refusals, one after the other, before you accept them", [*intent.insist]),
    ]
    lines = [f"\n{heading}\n" + "\n".join(f"- {line}" for line in items) for heading, items in blocks if items]
    if not intent.accepts:
        lines.append("\nYou agree to nothing that the agent proposes.")
    return "\n".join(lines)


def _told(fact: Fact) -> str:
    return fact.says or answer(fact.slot, fact.value)


def _change(change: Change) -> str:
    when = _WHEN.get(change.when, f"in your reply number {change.turn} after the first message")
    facts = " ".join(_told(fact) for fact in change.facts)
    return f"{when}, say: {change.says}" + (f" From then on: {facts}" if facts else "")
