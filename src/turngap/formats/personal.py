"""Likely personal data and credentials in recordings: find them, and replace them by stand-ins.

Found: e-mail addresses, telephone numbers (with separators, with ``+``, or under a key that says so), card numbers (14
to 19 digits with a right check digit), and credentials (bearer tokens, well-known key shapes, values under keys such as
``password`` or ``session_token``). Names, addresses and dates of birth are NOT found: this is a net, not a guarantee.

`Redactor` replaces a value wherever it stands in a conversation, also inside arguments and results, by one stand-in of
its shape. Equal values get equal stand-ins and different values different ones, so that matching calls still works.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from turngap import jsonio
from turngap.data import AssistantMessage, Conversation, Message, ToolCall, ToolSpec

KINDS = ("email", "phone", "card", "credential")
"""What is looked for, in the order of every table."""

_EMAIL = re.compile(r"[\w.%+-]+@[\w-]+(?:\.[\w-]+)*\.[^\W\d_]{2,}")
_CARD = re.compile(r"(?<![\w.-])[2-6]\d{3}(?:[ -]?\d){10,15}(?![\w-])")
_LOCAL_END = re.compile(r"\d{3}[ .-]\d{4}")
_LOCAL = re.compile(r"(?<![\w.+-])(?:\+\d{1,3}[ .-]?)?(?:\(\d{3}\) ?|\d{3}[ .-])\d{3}[ .-]\d{4}(?![\w-])")
_INTERNATIONAL = re.compile(r"(?<![\w.+])\+\d[\d .()/-]{6,}\d(?!\w)")
_KEYED = re.compile(r'"([\w-]*(?:phone|mobile|fax)[\w-]*)"\s*:\s*"?(\+?\d[\d .()/-]{5,}\d)(?=["\s,}\]])', re.IGNORECASE)
# A key means a number when one of its words does: "Headphones" and "iPhone" are goods, "phone_id" names one of them.
_KEY_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_PHONE_WORD = re.compile(
    r"(?:(?:tele|cell|mobile|home|work|office|contact|user|customer)?phone|mobile|fax)(?:number|num|no|nr)?s?"
)
_GOODS_BEFORE = frozenset({"head", "ear", "smart", "i", "micro"})
_GOODS_BEHIND = frozenset({"id", "ids", "model", "sku", "item", "product", "variant", "order", "price", "case", "type"})
# Each pattern stands behind words one of which its matches must contain: looking for words first is far faster.
_SECRETS: tuple[tuple[tuple[str, ...], re.Pattern[str]], ...] = (
    (("bearer",), re.compile(r"\bBearer\s+((?=[\w.~+/=-]*\d)[\w.~+/=-]{6,})", re.IGNORECASE)),
    (("authorization",), re.compile(r"\bAuthorization\s*:\s*(?:Basic|Token)\s+([\w.~+/=-]{6,})", re.IGNORECASE)),
    (("sk-",), re.compile(r"\b(sk-[\w-]{16,})")),
    (("gho_", "ghp_", "ghr_", "ghs_", "ghu_"), re.compile(r"\b(gh[oprsu]_\w{20,})")),
    (("xox",), re.compile(r"\b(xox[abprs]-[\w-]{10,})")),
    (("akia", "aiza"), re.compile(r"\b(AKIA[0-9A-Z]{16}|AIza[\w-]{30,})")),
    (("eyj",), re.compile(r"\b(eyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]{8,})")),
    (
        ("private key",),
        re.compile(r"(-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]+?-----END [A-Z ]*PRIVATE KEY-----)"),
    ),
    (
        ("passw", "passphrase", "secret", "token", "api_key", "apikey"),
        re.compile(
            r'"[\w-]*(?:password|passwd|passphrase|secret|token|api_?key)"\s*:\s*"([^"\\\s]{6,})"', re.IGNORECASE
        ),
    ),
    (
        ("password", "passphrase", "secret", "token", "api key", "api-key", "api_key", "apikey"),
        re.compile(
            r"\b(?:password|passphrase|api[ _-]?key|(?:session|access|auth)[ _-]token|secret)"
            r"(?:\s*[:=]\s*|\s+is\s+)((?=[^\s\"',;]*\d)[^\s\"',;]{6,}?)(?=[.!?]?(?:[\s\"',;]|$))",
            re.IGNORECASE,
        ),
    ),
)
_STAND_IN_EMAIL, _STAND_IN_SECRET = "redacted.example", "redacted-secret-"
_STAND_IN_PHONE, _STAND_IN_CARD = "55501", "499999"
_DIGIT = re.compile(r"\d")


class Found(msgspec.Struct, frozen=True):
    """One likely personal value."""

    kind: str
    """One of `KINDS`."""
    value: str
    """As it stands in the text."""


def identity(found: Found) -> tuple[str, str]:
    """What is the same for all spellings of one value: addresses in any case, numbers with any separators."""
    plain = found.value.lower() if found.kind == "email" else found.value
    return found.kind, _digits(found.value) if found.kind in ("phone", "card") else plain


class _Net:
    """The patterns that can match anywhere in a text, or in any of several."""

    def __init__(self, text: str) -> None:
        words = text.lower()
        self.emails = "@" in words
        self.numbers = [_LOCAL] * (_LOCAL_END.search(words) is not None) + [_INTERNATIONAL] * ("+" in words)
        self.keys = "phone" in words or "mobile" in words or "fax" in words
        self.secrets = [pattern for hints, pattern in _SECRETS if any(hint in words for hint in hints)]

    def find(self, text: str) -> Iterator[Found]:
        if self.emails:
            for match in _EMAIL.finditer(text):
                if not match[0].endswith("@" + _STAND_IN_EMAIL):
                    yield Found("email", match[0])
        yield from self._find_numbers(text)
        for pattern in self.secrets:
            for match in pattern.finditer(text):
                if not match[1].startswith(_STAND_IN_SECRET):
                    yield Found("credential", match[1])

    def _find_numbers(self, text: str) -> Iterator[Found]:
        cards = [match for match in _CARD.finditer(text) if _check_digit_fits(_digits(match[0]))]
        for match in cards:
            if not _digits(match[0]).startswith(_STAND_IN_CARD):
                yield Found("card", match[0])
        spans = [match.span() for pattern in self.numbers for match in pattern.finditer(text)]
        if self.keys:
            spans += [match.span(2) for match in _KEYED.finditer(text) if _names_a_number(match[1])]
        for start, end in spans:
            number = _digits(text[start:end])
            inside = any(card.start() <= start < card.end() for card in cards)
            if not inside and 7 <= len(number) <= 15 and not number.startswith(_STAND_IN_PHONE):
                yield Found("phone", text[start:end])


def _names_a_number(key: str) -> bool:
    """Whether one of the words of a key, in any common way to join words, is one for a telephone."""
    words = [word.lower() for word in _KEY_WORD.findall(key)]
    if not words or words[-1] in _GOODS_BEHIND:
        return False
    return any(
        _PHONE_WORD.fullmatch(word) and before not in _GOODS_BEFORE
        for before, word in zip(["", *words], words, strict=False)
    )


def find(text: str) -> Iterator[Found]:
    """Yield the likely personal values of a text, as often as they stand in it; stand-ins of ours are none."""
    return _Net(text).find(text)


def _digits(text: str) -> str:
    return "".join(_DIGIT.findall(text))


def _check_digit_fits(number: str) -> bool:
    """The check of ISO/IEC 7812 that card numbers pass."""
    if not 14 <= len(number) <= 19:
        return False
    doubled = [int(digit) * (1 + index % 2) for index, digit in enumerate(reversed(number))]
    return sum(value - 9 * (value > 9) for value in doubled) % 10 == 0


def texts_of(conversation: Conversation) -> Iterator[str]:
    """Every text of a conversation in which something personal may stand; arguments as JSON text."""
    yield conversation.policy
    if conversation.goal:
        yield conversation.goal
    if conversation.metadata:
        yield jsonio.dumps(conversation.metadata)
    for message in conversation.messages:
        yield message.content
        if isinstance(message, AssistantMessage):
            if message.reasoning:
                yield message.reasoning
            for call in message.calls:
                yield call.raw if call.raw is not None else jsonio.canonical(call.arguments)


def find_in(conversation: Conversation) -> set[Found]:
    """The different likely personal values of a conversation."""
    texts = list(texts_of(conversation))
    net = _Net("\n".join(texts))
    return {found for text in texts for found in net.find(text)}


class Redactor:
    """Replaces personal values by stand-ins, the same ones across all conversations that it is given."""

    def __init__(self) -> None:
        self._stand_ins: dict[tuple[str, str], str] = {}
        self._counts = dict.fromkeys(KINDS, 0)

    @property
    def counts(self) -> dict[str, int]:
        """Kind -> different values replaced so far."""
        return dict(self._counts)

    def redact(self, conversation: Conversation) -> Conversation:
        """The conversation with stand-ins for everything that `find_in` finds in it."""
        found = find_in(conversation)
        if not found:
            return conversation
        # In a fixed order, so that one file always gives one result.
        ordered = sorted(found, key=lambda item: (item.kind, item.value))
        table = {item.value: self._stand_in(item) for item in ordered}
        longest_first = sorted(table, key=len, reverse=True)
        pattern = re.compile(r"(?<!\w)(?:" + "|".join(map(re.escape, longest_first)) + r")(?!\w)")

        def replace(text: str) -> str:
            return pattern.sub(lambda match: table[match[0]], text)

        return msgspec.structs.replace(
            conversation,
            id=replace(conversation.id),
            policy=replace(conversation.policy),
            goal=None if conversation.goal is None else replace(conversation.goal),
            metadata=_walk(conversation.metadata, replace),
            tools=tuple(_redact_tool(spec, replace) for spec in conversation.tools),
            messages=tuple(_redact_message(message, replace) for message in conversation.messages),
        )

    def _stand_in(self, found: Found) -> str:
        key = identity(found)
        if key not in self._stand_ins:
            self._counts[found.kind] += 1
            self._stand_ins[key] = _make_stand_in(*key, self._counts[found.kind])
        made = self._stand_ins[key]
        return _shaped(made, found.value) if found.kind in ("phone", "card") else made


def _make_stand_in(kind: str, plain: str, number: int) -> str:
    if kind == "email":
        return f"user{number}@{_STAND_IN_EMAIL}"
    if kind == "credential":
        return f"{_STAND_IN_SECRET}{number}"
    if kind == "phone":
        return _STAND_IN_PHONE + str(number).zfill(len(plain) - len(_STAND_IN_PHONE))
    body = _STAND_IN_CARD + str(number).zfill(len(plain) - len(_STAND_IN_CARD) - 1)
    return next(body + str(last) for last in range(10) if _check_digit_fits(body + str(last)))


def _shaped(digits: str, like: str) -> str:
    """Put digits into the places of the digits of `like`; those that find no place follow at the end."""
    rest = iter(digits)
    return "".join(next(rest, "0") if char.isdigit() else char for char in like) + "".join(rest)


def _walk(value: Any, replace: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return replace(value)
    if isinstance(value, int) and not isinstance(value, bool):
        text = replace(str(value))
        return int(text) if text.isdecimal() else value
    if isinstance(value, list):
        return [_walk(item, replace) for item in value]
    if isinstance(value, dict):
        return {replace(key): _walk(item, replace) for key, item in value.items()}
    return value


def _redact_tool(spec: ToolSpec, replace: Callable[[str], str]) -> ToolSpec:
    parameters = _walk(spec.parameters, replace)
    return msgspec.structs.replace(spec, description=replace(spec.description), parameters=parameters)


def _redact_message(message: Message, replace: Callable[[str], str]) -> Message:
    if not isinstance(message, AssistantMessage):
        return msgspec.structs.replace(message, content=replace(message.content))
    return msgspec.structs.replace(
        message,
        content=replace(message.content),
        reasoning=None if message.reasoning is None else replace(message.reasoning),
        calls=tuple(_redact_call(call, replace) for call in message.calls),
    )


def _redact_call(call: ToolCall, replace: Callable[[str], str]) -> ToolCall:
    return msgspec.structs.replace(
        call,
        arguments=None if call.arguments is None else _walk(call.arguments, replace),
        raw=None if call.raw is None else replace(call.raw),
        error=None if call.error is None else replace(call.error),
    )
