"""The one place where predicted calls are held against reference calls.

`strict`, `replay` and the `rules` judge all ask the same `Matcher`, so a call that is right in one is right in all.
Matching is equality of normal forms (see `turngap.metrics.normalise` and docs/matching.md): a missing or extra argument
never matches, n reference calls need n predicted ones, order inside a message means nothing, and malformed arguments
match nothing, not even themselves. No figure here is ever NaN.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from turngap import jsonio
from turngap.config import MatchConfig
from turngap.data import ToolCall, ToolSpec
from turngap.metrics.normalise import Bag, Normaliser, key_of

if TYPE_CHECKING:
    from turngap.metrics.validation import Validator

_MOST_SHOWN = 160
"""Characters of a value that an explanation repeats."""

_Path = tuple[str | int | None, ...]
_Leaf = tuple[_Path, str]


class ArgScore(msgspec.Struct, frozen=True, kw_only=True):
    """How much of the reference's calls a prediction has, counted in leaves (call name, argument path, value)."""

    f1: float
    """2 tp / (n_pred + n_ref), and 1 where neither side has a call."""
    tp: int
    """Leaves that agree, under the pairing of calls that makes them most."""
    n_pred: int
    n_ref: int


class _Normal(msgspec.Struct, frozen=True):
    """A call reduced to what counts."""

    name: str
    arguments: dict[str, Any] | None
    """None for a malformed call."""
    key: str | None
    """Equal for calls that match; None for a malformed call, which matches nothing."""

    @property
    def leaves(self) -> Counter[_Leaf]:
        """A call without arguments, or with malformed ones, counts its name as one leaf."""
        return Counter(_leaves(self.arguments, ())) if self.arguments else Counter({((), ""): 1})


class Matcher:
    """Compares calls of one set of tools; the work on each tool's schema is done once.

    Args:
        tools: the tools that the agent had; with none given, no name is called unknown.
        rules: the switches of normalisation.
        compare_args: the conversation's own tool -> only arguments that count; `rules.compare_args` wins over it.
    """

    def __init__(
        self,
        tools: Sequence[ToolSpec],
        rules: MatchConfig,
        compare_args: Mapping[str, tuple[str, ...]] | None = None,
    ) -> None:
        self._tools = {tool.name: tool for tool in tools}
        self._rules = rules
        self._compared = {
            name: frozenset(names) for name, names in {**(compare_args or {}), **rules.compare_args}.items()
        }
        self._normalisers: dict[str, Normaliser] = {}
        self._validators: dict[str, Validator] = {}

    def same(self, prediction: ToolCall, reference: ToolCall) -> bool:
        """Whether the two calls mean the same; symmetric, and False as soon as one is malformed."""
        if prediction.name != reference.name:
            return False
        key = self._normal(prediction).key
        return key is not None and key == self._normal(reference).key

    def exact(self, prediction: Sequence[ToolCall], reference: Sequence[ToolCall]) -> bool:
        """Whether the calls of two messages are equal as multisets."""
        if len(prediction) != len(reference):
            return False
        ours, theirs = Counter(self._keys(prediction)), Counter(self._keys(reference))
        return None not in ours and ours == theirs

    def names(self, prediction: Sequence[ToolCall], reference: Sequence[ToolCall]) -> bool:
        """Whether the function names of two messages are equal as multisets, whatever the arguments."""
        return Counter(call.name for call in prediction) == Counter(call.name for call in reference)

    def arg_f1(self, prediction: Sequence[ToolCall], reference: Sequence[ToolCall]) -> ArgScore:
        """F1 over leaves of optimally paired calls; a pair of different functions shares none."""
        ours = [self._normal(call) for call in prediction]
        theirs = [self._normal(call) for call in reference]
        n_pred = sum(call.leaves.total() for call in ours)
        n_ref = sum(call.leaves.total() for call in theirs)
        if not ours and not theirs:
            return ArgScore(f1=1.0, tp=0, n_pred=0, n_ref=0)
        tp = _agreeing(ours, theirs)
        return ArgScore(f1=2 * tp / (n_pred + n_ref), tp=tp, n_pred=n_pred, n_ref=n_ref)

    def normalise(self, call: ToolCall) -> ToolCall:
        """The call with its arguments in normal form; a malformed call stays as it is."""
        normal = self._normal(call)
        return call if normal.arguments is None else ToolCall(name=call.name, arguments=normal.arguments)

    def problem(self, call: ToolCall) -> str | None:
        """Say what is wrong with a call by itself, after normalisation, or None.

        The words may be shown to the model: they name the tool, the argument and what the schema asks for, or the place
        where the arguments cease to be JSON.
        """
        if self._tools and call.name not in self._tools:
            return f"there is no tool named {call.name!r}" if call.name else "the call names no tool"
        trouble = self._malformed(call)
        if trouble is not None:
            return f"the arguments of {call.name} cannot be read: {trouble}"
        assert call.arguments is not None  # noqa: S101 - what _malformed has just ruled out
        spec = self._tools.get(call.name)
        if spec is None:
            return None
        if call.name not in self._validators:
            from turngap.metrics.validation import Validator  # noqa: PLC0415 - jsonschema is loaded when first needed

            self._validators[call.name] = Validator(spec.parameters)
        found = self._validators[call.name].problem(self._arguments(call.name, call.arguments))
        return f"invalid arguments for {call.name}: {found}" if found else None

    def explain(self, prediction: ToolCall, reference: ToolCall) -> str:
        """Say for readers how two calls differ, always naming the side."""
        ours, theirs = self._normal(prediction), self._normal(reference)
        if ours.name != theirs.name or ours.arguments is None or theirs.arguments is None:
            return f"reference: {self._spoken(reference)}, prediction: {self._spoken(prediction)}"
        lacking, extra = _by_path(theirs.leaves - ours.leaves), _by_path(ours.leaves - theirs.leaves)
        if not lacking and not extra:
            return f"{ours.name}: no difference"
        parts = [
            f"{path or 'arguments'}: reference {lacking.get(path, 'absent')}, prediction {extra.get(path, 'absent')}"
            for path in dict.fromkeys((*lacking, *extra))
        ]
        return f"{ours.name}: {'; '.join(parts)}"

    def _keys(self, calls: Sequence[ToolCall]) -> Iterator[str | None]:
        return (self._normal(call).key for call in calls)

    def _normal(self, call: ToolCall) -> _Normal:
        if call.arguments is None or self._malformed(call) is not None:
            return _Normal(call.name, None, None)
        arguments = self._arguments(call.name, call.arguments)
        compared = self._compared.get(call.name)
        if compared is not None:
            arguments = {name: value for name, value in arguments.items() if name in compared}
        return _Normal(call.name, arguments, f"{call.name}\n{key_of(arguments)}")

    def _malformed(self, call: ToolCall) -> str | None:
        """Why the call's arguments count as malformed, or None."""
        if call.arguments is None:
            return call.error or "they are not a JSON object"
        if not self._rules.parse_strings and "double_encoded" in call.notes:
            return "they are a JSON string, not an object"
        return None

    def _arguments(self, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        if name not in self._normalisers:
            self._normalisers[name] = Normaliser(self._tools.get(name), self._rules, name)
        return self._normalisers[name].arguments(arguments)

    def _spoken(self, call: ToolCall) -> str:
        trouble = self._malformed(call)
        if trouble is not None:
            return f"{call.name}(malformed: {trouble})"
        arguments = ", ".join(f"{name}={_cut(jsonio.dumps(value))}" for name, value in (call.arguments or {}).items())
        return f"{call.name}({arguments})"


def _leaves(value: Any, path: _Path) -> Iterator[_Leaf]:
    """Yield (path, text) of every leaf. An element of an array without order is one leaf, for it has no path."""
    if isinstance(value, dict) and value:
        for name, item in value.items():
            yield from _leaves(item, (*path, name))
    elif isinstance(value, Bag) and value:
        for item in value:
            yield (*path, None), key_of(item)
    elif isinstance(value, list) and value:
        for index, item in enumerate(value):
            yield from _leaves(item, (*path, index))
    else:
        yield path, key_of(value)


def _agreeing(ours: Sequence[_Normal], theirs: Sequence[_Normal]) -> int:
    """The most leaves that agree under any one-to-one pairing of the calls."""
    ours_left, theirs_left, total = _without_equals(ours, theirs)
    groups: dict[str, tuple[list[Counter[_Leaf]], list[Counter[_Leaf]]]] = defaultdict(lambda: ([], []))
    for side, calls in enumerate((ours_left, theirs_left)):
        for call in calls:
            if call.arguments is not None:
                groups[call.name][side].append(call.leaves)
    # Calls of different functions share nothing, so each function is paired by itself.
    for left, right in groups.values():
        if left and right:
            total += _best([[(one & other).total() for other in right] for one in left])
    return total


def _without_equals(ours: Sequence[_Normal], theirs: Sequence[_Normal]) -> tuple[list[_Normal], list[_Normal], int]:
    """Pair equal calls first, which never costs a better pairing: an intersection is no larger than what it is of."""
    waiting = Counter(call.key for call in theirs if call.key is not None)
    paired: Counter[str] = Counter()
    ours_left, total = [], 0
    for call in ours:
        if call.key is not None and waiting[call.key]:
            waiting[call.key] -= 1
            paired[call.key] += 1
            total += call.leaves.total()
        else:
            ours_left.append(call)
    theirs_left = []
    for call in theirs:
        if call.key is not None and paired[call.key]:
            paired[call.key] -= 1
        else:
            theirs_left.append(call)
    return ours_left, theirs_left, total


def _best(agreement: list[list[int]]) -> int:
    if len(agreement) == 1:
        return max(agreement[0])
    if len(agreement[0]) == 1:
        return max(row[0] for row in agreement)
    from scipy.optimize import linear_sum_assignment  # noqa: PLC0415 - rare, and scipy takes long to load

    rows, columns = linear_sum_assignment(agreement, maximize=True)
    return sum(agreement[row][column] for row, column in zip(rows, columns, strict=True))


def _by_path(leaves: Counter[_Leaf]) -> dict[str, str]:
    found: dict[str, list[str]] = defaultdict(list)
    for (path, text), count in leaves.items():
        found[_written(path)] += [_cut(text) if path else "no arguments"] * count
    return {path: ", ".join(texts) for path, texts in found.items()}


def _written(path: _Path) -> str:
    steps = ("[]" if step is None else f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)
    return "".join(steps).removeprefix(".")


def _cut(text: str) -> str:
    return text if len(text) <= _MOST_SHOWN else f"{text[: _MOST_SHOWN - 1]}…"
