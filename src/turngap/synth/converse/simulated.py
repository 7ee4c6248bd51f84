"""Tools without code: a model answers each call from the specifications, the scenario and what it answered before.

What needs no model is done without one. A call that cannot be read, an unknown tool and arguments against the schema
are refused in the same words as in a domain; a look that was made before, with no change since, gets the answer that it
got. Everything else is asked for as JSON that names the tool it answers for. An answer that cannot be used, one for
another tool among them, is asked for once more; then the conversation is lost (`DomainFault`, kind `UNREADABLE`).

The consistency of a simulated world is the model's: it sees every call and result so far, and nothing checks it but the
judges. There is no database, so nothing can be compared with one afterwards.
"""

from __future__ import annotations

from typing import Any

from turngap import jsonio
from turngap.data import (
    CallVerdict,
    Category,
    ToolCall,
    ToolMessage,
    Usage,
)
from turngap.domains.live import Unscripted
from turngap.errors import DomainFault
from turngap.judges import prompt
from turngap.judges.reply import Unreadable, read_objects
from turngap.synth.converse.asking import Asker, UnreadableError
from turngap.synth.converse.desk import Desk, Gatekeeper
from turngap.synth.converse.situation import Situation

UNREADABLE = "simulator_unreadable"
"""Kind of the fault when no answer could be used."""

TOOLS = f"""\
You stand in for the tools of a service desk, which a program calls. You see the specifications of the tools, the
scenario for which the desk was set up, all calls so far with the answers that you gave, and one new call. Say what the
tool would answer.

- The answer follows from the specification of this tool and from what is known: what the scenario says of the initial
  state and of the customer, and what was answered before. Records that were shown or changed stay as they are known.
- Where nothing is known, make up plausible data of the right form, with ids, dates and amounts as real systems have.
- Refuse what cannot be done: a record that does not exist, a change that the state of the record does not allow.
- You are the tools, not the agent: carry out this one call, and do nothing that was not called for.

{prompt.READING}
How to answer. Write one JSON object and nothing else. It has the field tool, the name of the tool that was called, and
either the field result, with any JSON value, or the field error, a text of one sentence, where the tool refuses.
"""
VERSION = jsonio.digest([TOOLS, "layout 1"])[:16]
"""Identity of the prompt."""


class ToolSimulator:
    """Answers calls for the tools of one desk."""

    def __init__(self, asker: Asker, desk: Desk) -> None:
        self._asker = asker
        self._desk = desk
        self._gate = Gatekeeper(desk)

    def identity(self) -> dict[str, Any]:
        """The model and the prompt."""
        return {"simulator": self._asker.identity(), "prompt": VERSION}

    def world(self, situation: Situation) -> SimulatedWorld:
        """A new world for one conversation."""
        return SimulatedWorld(self._asker, self._desk, self._gate, situation)

    async def aclose(self) -> None:
        """Release the model."""
        await self._asker.aclose()


class SimulatedWorld(Unscripted):
    """What the tools act on in one conversation: the log of what they answered. See `Unscripted`."""

    def __init__(self, asker: Asker, desk: Desk, gate: Gatekeeper, situation: Situation) -> None:
        self.usage = Usage()
        """Tokens that the answers cost."""
        self.asks = 0
        """Questions to the model."""
        self._asker, self._desk, self._gate = asker, desk, gate
        self._situation = situation
        self._log: list[tuple[ToolCall, ToolMessage]] = []

    async def answered(self, call: ToolCall) -> tuple[ToolMessage, CallVerdict]:
        """Have the model answer, unless the call cannot be run.

        Raises:
            DomainFault: the model gave no answer that can be used. EndpointError: its server failed.
        """
        refusal = self._refusal(call)
        if refusal is not None:
            category, told = refusal
            return _error(call, told), CallVerdict(accepted=False, category=category, detail=told)
        result = self._known(call) or await self._asked(call)
        self._log.append((call, result))
        return result, CallVerdict(accepted=True)

    def _refusal(self, call: ToolCall) -> tuple[Category, str] | None:
        if not self._gate.knows(call.name):
            return Category.WRONG_TOOL, self._gate.unknown(call.name)
        if call.arguments is None:
            return Category.MALFORMED_CALL, call.error or "the arguments are not a JSON object"
        problem = self._gate.problem(call.name, call.arguments)
        return None if problem is None else (Category.WRONG_ARGUMENTS, problem)

    def _known(self, call: ToolCall) -> ToolMessage | None:
        """The answer that the same look got before, where nothing was changed since."""
        if call.name in self._desk.writes:
            return None
        for earlier, result in reversed(self._log):
            if earlier.name in self._desk.writes:
                return None
            if earlier.name == call.name and earlier.arguments == call.arguments:
                return result
        return None

    async def _asked(self, call: ToolCall) -> ToolMessage:
        key = f"{self._situation.id} call {len(self._log)}"
        try:
            said = await self._asker.ask(key, self._prompt(call), lambda text: _read(text, call))
        except UnreadableError as error:
            fault = DomainFault(f"the simulated tool {call.name} gave no answer that can be used: {error}")
            fault.kind = UNREADABLE
            raise fault from None
        self.usage += said.usage
        self.asks += said.asks
        return said.value

    def _prompt(self, call: ToolCall) -> prompt.Messages:
        shown = self._situation.shown()
        scenario = {name: shown[name] for name in ("objective", "initial_state", "customer_knows")}
        before = [
            {"tool": one.name, "arguments": one.arguments, "answer": result.content, "error": result.error}
            for one, result in self._log
        ]
        sections = [
            *prompt.setting("", self._desk.tools)[1:],
            ("The scenario:", scenario),
            ("The calls so far, with your answers:", before),
            ("The new call:", {"tool": call.name, "arguments": call.arguments}),
        ]
        return prompt.request(TOOLS, sections, "What does the tool answer?")


def _read(text: str, call: ToolCall) -> ToolMessage | Unreadable:
    found = read_objects(text, "tool")
    if isinstance(found, Unreadable):
        return found
    answer = found[-1]
    if answer["tool"] != call.name:
        return Unreadable(f"it answers for a tool other than {call.name}, the one that was called")
    if ("result" in answer) == ("error" in answer):
        return Unreadable("it should have either a result or an error")
    if "error" in answer:
        if not isinstance(answer["error"], str):
            return Unreadable("its error is not a text")
        return _error(call, answer["error"])
    result = answer["result"]
    return ToolMessage(name=call.name, content=result if isinstance(result, str) else jsonio.dumps(result))


def _error(call: ToolCall, text: str) -> ToolMessage:
    return ToolMessage(name=call.name, content=jsonio.dumps({"error": text}), error=True)
