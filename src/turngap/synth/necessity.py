"""Which steps of a reference nothing needs, judged mildly: for references that others wrote.

A plan of ours has no step to spare (`turngap.synth.ablation`). A reference of somebody else may look at more than the
bare minimum, and rightly: at an order before it is cancelled, at several to find the one that is meant. Here a look-up
is idle only when none of what it shows is used or told later, nothing later is about what it looked at, and it is the
only one of its tool; a change only when the final state is the same without it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from turngap.data.task import hands_over
from turngap.grading.saying import says
from turngap.synth.offer import given, offers, token
from turngap.synth.plan import Step
from turngap.synth.provenance import Traced

_LITTLE = 3
"""Values with fewer signs are in many results by chance."""


def idle(
    steps: Sequence[Step],
    facts: Sequence[str],
    same_without: Callable[[int], bool],
    is_person: Callable[[str], bool],
) -> Iterator[tuple[int, str]]:
    """Indices of steps that nothing needs, with the reason.

    Args:
        steps: the reference, done; refused ones are passed over.
        facts: what has to be told.
        same_without: whether the final state is the same without a step.
        is_person: whether a value is the key of a customer; to find out who somebody is, is never idle.
    """
    for index, step in enumerate(steps):
        if step.error or hands_over(step.call.name):
            continue
        if step.kind == "write":
            reason = "it changes nothing" if not step.changed else ""
            if not reason and same_without(index):
                reason = "the final state is the same without it"
        else:
            reason = _repeats(steps, index)
            if not reason and not is_person(step.result) and not any(says(step.result, fact) for fact in facts):
                reason = _unused(steps, index)
        if reason:
            yield index, reason


def spare(
    steps: Sequence[Step], traced: Sequence[Traced], facts: Sequence[str], obeys_without: Callable[[int], bool]
) -> Iterator[tuple[int, str]]:
    """Indices of look-ups that a reference which is all that has to be done does not need, with the reason.

    Args:
        steps: the reference, done.
        traced: where its values come from.
        facts: what has to be told; a result that says one is needed.
        obeys_without: whether the others still break no rule without a step.
    """
    for index, step in enumerate(steps):
        if step.error or step.kind != "read" or any(says(step.result, fact) for fact in facts):
            continue
        if not any(need == {index} for one in traced for need in one.needs) and obeys_without(index):
            yield index, "no later argument, no fact and no rule needs it"


def _repeats(steps: Sequence[Step], index: int) -> str:
    again = next((i for i in range(index) if steps[i].call == steps[index].call and not steps[i].error), None)
    if again is None or any(step.changed for step in steps[again:index]):
        return ""
    return f"action {again + 1} made the same call, and nothing was changed since"


def _unused(steps: Sequence[Step], index: int) -> str:
    step, rest = steps[index], steps[index + 1 :]
    later = {value for other in rest for value in _long(given(other.call))}
    if step.kind == "generic":
        return "" if token(step.result) in later else "nobody is told the result, and nothing uses it"
    shown = _long({token(offer.value) for offer in offers(step.result)} | given(step.call))
    searching = any(other.call.name == step.call.name and other is not step for other in steps)
    if not later or shown & later or searching:
        return ""
    return "nothing that it shows is used or told later, and nothing later is about the same"


def _long(values: set[str]) -> set[str]:
    return {value for value in values if len(value) >= _LITTLE}
