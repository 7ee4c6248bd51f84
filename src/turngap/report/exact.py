"""How text from data comes into a page: byte for byte, and never as markup."""

from __future__ import annotations

from markupsafe import Markup, escape

from turngap import jsonio


def exact(text: object) -> Markup:
    """Text as it is, for an element: what HTML would change on reading is written so that it comes out unchanged.

    What no page can hold (lone surrogates, NUL) is U+FFFD.
    """
    kept = jsonio.clean(str(text)).replace("\x00", "\ufffd")
    return Markup(str(escape(kept)).replace("\r", "&#13;"))  # noqa: S704 - escaped in this very line
