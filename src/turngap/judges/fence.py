"""Put data into a prompt so that it stays data.

Whoever wrote the transcript may have written it for the judge's eyes. Three things keep it from leaving its place:

* everything is JSON, so no text in it can end a line, and the signs that chat templates use for roles are escaped too;
* it stands between marker lines whose code occurs nowhere in it (checked);
* the code is derived from a digest of all the data. The same request always gets the same code, so that the call cache
  works; but who writes a part of the data cannot know the code, since writing it down would change it.

What the judge is told about the markers is the prompt's business.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import count
from typing import Any

from turngap import jsonio

_DIGITS = 20
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"')
# <|im_start|>, <start_of_turn>, </s>; [INST], [/TOOL_CALLS]; line ends that JSON does not escape.
_CONTROL = re.compile(r"[<>\u0085\u2028\u2029]|\[(?=/?[A-Z_]{3,}\])")


def encode(value: Any) -> str:
    """One line of JSON that means `value` and holds no sign with which a chat template could mark roles."""
    text = jsonio.dumps(value)
    return _STRING.sub(lambda literal: _CONTROL.sub(lambda sign: f"\\u{ord(sign[0]):04x}", literal[0]), text)


def codes(contents: Sequence[str]) -> Iterator[str]:
    """The codes to try for these contents, in order."""
    digest = hashlib.sha256("\0".join(contents).encode())
    for number in count():
        attempt = digest.copy()
        attempt.update(f"\0fence {number}".encode())
        yield attempt.hexdigest()[:_DIGITS]


def choose(contents: Sequence[str], candidates: Iterable[str]) -> str:
    """The first candidate that occurs in none of the contents."""
    return next(code for code in candidates if not any(code in content for content in contents))


def fenced(sections: Sequence[tuple[str, Any]]) -> tuple[str, str]:
    """Lay out titled data between markers.

    Returns:
        The code of the markers, and the text.
    """
    contents = [encode(value) for _, value in sections]
    code = choose(contents, codes(contents))
    blocks = [
        f"{title}\nBEGIN DATA {code}\n{content}\nEND DATA {code}"
        for (title, _), content in zip(sections, contents, strict=True)
    ]
    return code, "\n\n".join(blocks)
