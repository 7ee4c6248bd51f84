"""The preview of a training as one page that opens offline, without a script: learnt, given and cut text in colours."""

from __future__ import annotations

from collections.abc import Sequence

from turngap import __version__
from turngap.report import html
from turngap.report.preview import KINDS, Shown


def preview_page(shown: Sequence[Shown], *, title: str, notes: Sequence[str] = ()) -> str:
    """The page.

    Args:
        shown: the sequences.
        title: what is trained on what.
        notes: what a person should know of the chat template, one sentence each.

    Raises:
        MissingExtra: when imported, if the extra ``report`` is not installed.
    """
    return html.page(
        "preview.html.j2",
        "preview.css",
        shown=shown,
        title=title,
        notes=notes,
        kinds=KINDS,
        repeated=any(part.times > 1 for one in shown for part in one.stretches),
        made_with=f"turngap {__version__}",
    )
