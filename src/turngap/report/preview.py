"""What a model would be trained on, before it is: sequences with what is learnt, what is context and what is cut.

Every token of a sequence is shown as text, marks of turns included, and so is what was cut from it for length. This is
for eyes, in the terminal (`preview_text`) and as a page (`turngap.report.preview_page`); nothing is decided here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Literal

import msgspec
from rich.console import Group, RenderableType
from rich.text import Text

from turngap.data import Conversation
from turngap.report.harmless import harmless, one_line
from turngap.training.drawn import Drawn
from turngap.training.example import Example
from turngap.training.rendering import Refused, Rendered, Renderer

Kind = Literal["context", "trained", "cut"]
KINDS: dict[Kind, str] = {
    "context": "given, not learnt",
    "trained": "learnt",
    "cut": "left out for length",
}
"""Kind of stretch -> what it means to a reader."""
_STYLES: dict[Kind, str] = {"context": "dim", "trained": "bold green", "cut": "red strike"}
_MOST_SHOWN = 1200
"""Characters of a context or a cut that the terminal shows: its beginning and its end."""


class Stretch(msgspec.Struct, frozen=True, kw_only=True):
    """Neighbouring tokens of one kind."""

    kind: Kind
    text: str
    tokens: int
    times: int = 0
    """How often it is learnt; 0 where it is not."""

    def meaning(self) -> str:
        """What it is to a reader."""
        return f"learnt {self.times} times" if self.times > 1 else KINDS[self.kind]


class Shown(msgspec.Struct, frozen=True, kw_only=True):
    """One sequence, or why there is none."""

    id: str
    stretches: tuple[Stretch, ...] = ()
    cut: int = 0
    """Messages that were left out for length."""
    refused: str = ""
    """Why nothing is trained on; then there are no stretches."""

    def tokens(self, kind: Kind) -> int:
        """How many there are of a kind."""
        return sum(one.tokens for one in self.stretches if one.kind == kind)

    def sentence(self) -> str:
        """Its numbers in words."""
        if self.refused:
            return f"not trained on: {self.refused}"
        trained = self.tokens("trained")
        told = f"{trained + self.tokens('context'):,} tokens, {trained:,} of them learnt"
        targets = sum(one.tokens * one.times for one in self.stretches)
        if targets != trained:
            told += f", some of them several times ({targets:,} in all)"
        if self.cut:
            told += f"; {self.cut} messages cut, {self.tokens('cut'):,} tokens"
        return told


def preview(items: Iterable[Example | Drawn | Conversation], renderer: Renderer) -> tuple[Shown, ...]:
    """Render examples one by one, conversations as one sequence each, as training does.

    A conversation by itself is one of which everything is learnt once.
    """
    return tuple(_shown(one, renderer) for one in items)


def preview_text(shown: Sequence[Shown]) -> RenderableType:
    """For the terminal: each stretch under a line that says what it is, so that colours are not needed."""
    return Group(*(part for one in shown for part in _parts(one)))


def _shown(item: Example | Drawn | Conversation, renderer: Renderer) -> Shown:
    found = _rendered(item, renderer)
    if isinstance(found, Refused):
        return Shown(id=found.id, refused=f"{found.why}{f': {found.detail}' if found.detail else ''}")
    at, lost = _cut(item, found, renderer) if found.cut and isinstance(item, Example) else (0, [])
    text = renderer.templated.text
    stretches: list[Stretch] = []
    for begin, end in _runs(found, at):
        if lost and begin == at:
            stretches.append(Stretch(kind="cut", text=text(lost), tokens=len(lost)))
        times = found.learnt[begin]
        kind: Kind = "trained" if times else "context"
        stretches.append(Stretch(kind=kind, text=text(found.tokens[begin:end]), tokens=end - begin, times=times))
    return Shown(id=found.id, stretches=tuple(stretches), cut=found.cut)


def _rendered(item: Example | Drawn | Conversation, renderer: Renderer) -> Rendered | Refused:
    if isinstance(item, Example):
        return renderer.example(item)
    if isinstance(item, Drawn):
        return renderer.conversation(item.conversation, item.counts)
    return renderer.conversation(item)


def _runs(rendered: Rendered, border: int) -> Iterator[tuple[int, int]]:
    """Begin and end of neighbouring tokens that are learnt equally often; a run ends at the border too."""
    begin = 0
    for at in range(1, len(rendered.tokens) + 1):
        if at in (border, len(rendered.tokens)) or rendered.learnt[at] != rendered.learnt[begin]:
            yield begin, at
            begin = at


def _cut(example: Example, rendered: Rendered, renderer: Renderer) -> tuple[int, list[int]]:
    """Where in the sequence something is missing, and the tokens that are.

    What was cut is what the whole prompt has between the beginning and the end that both have. A template that writes
    other turns anew because of it (the tools into the first user turn, say) makes that stretch the larger.
    """
    templated = renderer.templated
    whole = templated.tokens(templated.prompt(example.setting.policy, example.setting.tools, example.context))
    kept = rendered.tokens[: len(rendered.tokens) - rendered.targets]
    at = next((n for n, (one, other) in enumerate(zip(kept, whole, strict=False)) if one != other), len(kept))
    behind = 0
    while behind < len(kept) - at and kept[-1 - behind] == whole[-1 - behind]:
        behind += 1
    return at, whole[at : len(whole) - behind]


def _parts(one: Shown) -> Iterator[Text]:
    yield Text(f"{one_line(one.id)}: {one_line(one.sentence())}", style="bold")
    for stretch in one.stretches:
        yield Text(f"--- {stretch.kind}: {stretch.tokens:,} tokens, {stretch.meaning()}", style="italic")
        shown = stretch.text if stretch.kind == "trained" else _shortened(stretch.text)
        yield Text(harmless(shown), style=_STYLES[stretch.kind])
    yield Text()


def _shortened(text: str) -> str:
    half = _MOST_SHOWN // 2
    if len(text) <= _MOST_SHOWN:
        return text
    return f"{text[:half]}\n[... {len(text) - 2 * half:,} characters ...]\n{text[-half:]}"
