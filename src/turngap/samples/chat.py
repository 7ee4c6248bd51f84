"""Writes one sample conversation down while it happens: wordings are drawn, tool calls are run on a real shop.

A `Chat` is the only place that appends messages, so whatever a scenario does, results are the shop's own and every call
has its result.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from typing import Any

from turngap.samples.phrase import AGENT, CUSTOMER
from turngap.samples.shop import Bought, Customer, Item, Shop

_MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
    "December",
)  # fmt: skip
_ASIDES = ("One moment, please.", "Let me look that up.", "Let me check.", "Just a second.")
_OPTION = {"volume": "with {}", "size": "in size {}", "brightness": "with {}", "handle": "with a {} handle"}


class Chat:
    """One conversation in the making."""

    def __init__(self, shop: Shop, draw: random.Random, customer: Customer) -> None:
        self.shop, self.draw, self.customer = shop, draw, customer
        self.messages: list[dict[str, Any]] = []
        self.seen: set[str] = set()
        """Orders that the agent has looked up."""
        self._terse = draw.random() < 0.2
        self._chatty = draw.random() < 0.3
        self._used: set[str] = set()
        self._calls = 0

    def customer_words(self, key: str, **facts: Any) -> str:
        """Draw one of the customer's wordings and fill it."""
        template = self._draw(CUSTOMER, key)
        if self._terse:
            template = template[:1].lower() + template[1:].rstrip(".!")
        text = template.format(**facts)
        return text if self._terse else text[:1].upper() + text[1:]

    def agent_words(self, key: str, **facts: Any) -> str:
        """Draw one of the agent's wordings and fill it."""
        text = self._draw(AGENT, key).format(first=self.customer.first_name, **facts)
        return text[:1].upper() + text[1:]

    def user(self, *parts: str) -> None:
        """The customer says something."""
        self.messages.append({"role": "user", "content": _join(parts)})

    def agent(self, *parts: str) -> None:
        """The agent says something: a text decision."""
        self.messages.append({"role": "assistant", "content": _join(parts)})

    def call(self, name: str, **arguments: Any) -> bool:
        """The agent makes one call; whether it went well."""
        return self.calls([(name, arguments)])

    def calls(self, wanted: Sequence[tuple[str, dict[str, Any]]]) -> bool:
        """The agent makes several calls in one message: one tool decision; whether all went well."""
        calls, results = [], []
        for name, arguments in wanted:
            self._calls += 1
            call_id = f"call_{self._calls}"
            function = {"name": name, "arguments": json.dumps(arguments, ensure_ascii=False)}
            calls.append({"id": call_id, "type": "function", "function": function})
            results.append({"role": "tool", "tool_call_id": call_id, "content": self.shop.call(name, arguments)})
        reads = all(name.startswith(("find", "get")) for name, _ in wanted)
        aside = self.draw.choice(_ASIDES) if self._chatty and reads and self.draw.random() < 0.4 else None
        self.messages.append({"role": "assistant", "content": aside, "tool_calls": calls})
        self.messages.extend(results)
        return not any(result["content"].startswith('{"error"') for result in results)

    @property
    def asked(self) -> str:
        """Suffix of the wordings that fit the agent's last words: ``.asked`` after a question, else nothing."""
        return ".asked" if self.messages[-1]["content"].endswith("?") else ""

    def yes(self) -> None:
        """The customer agrees."""
        self.user(self.customer_words("yes"))

    def _draw(self, book: Mapping[str, tuple[str, ...]], key: str) -> str:
        """Draw a wording, one that was not yet said in this conversation where there is a choice."""
        fresh = [template for template in book[key] if template not in self._used] or list(book[key])
        template = self.draw.choice(fresh)
        self._used.add(template)
        return template


def _join(parts: Iterable[str]) -> str:
    """Put sentences together; what follows a comma or colon goes on in lower case, ids and `I` excepted."""
    text = ""
    for part in filter(None, parts):
        if text.endswith((",", ":")) and part[:2].isalpha() and part[1:2].islower():
            text = f"{text} {part[0].lower()}{part[1:]}"
        elif text and text[-1].isalnum():
            text = f"{text}. {part}"
        else:
            text = f"{text} {part}" if text else part
    return text


def money(amount: float) -> str:
    """Dollars as people write them."""
    return f"${amount:.2f}"


def day(when: date) -> str:
    """A date as people write it; the year goes without saying."""
    return f"{_MONTHS[when.month - 1]} {when.day}"


def wish(options: Mapping[str, str]) -> str:
    """What somebody says who wants these options: ``in navy and in size M``."""
    return " and ".join(_OPTION.get(name, "in {}").format(value) for name, value in options.items())


def shown(item: Item) -> str:
    """The options of an item in a list: ``navy, M``."""
    return ", ".join(item.options.values())


def the(bought: Iterable[Bought]) -> str:
    """Items by name: ``the teapot and the headlamp``."""
    names = [f"the {one.product.name}" for one in bought]
    return " and ".join((", ".join(names[:-1]), names[-1])) if len(names) > 1 else names[0]
