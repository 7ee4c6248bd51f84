"""What customers of the sample conversations want, and how the agent deals with it.

An `Ask` is one request about one order: it says whether an order suits it, words the opening, and plays the exchange
out on the shop. `find` says how the order becomes known: ``id`` (the customer gives it), ``asked`` (the agent asks),
``wrong`` (a mistyped id first), ``search`` and ``parallel`` (the customer names a product and the agent looks through
the account's orders, one by one or all in one message). `twist` is what makes the request take another course.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

from turngap.samples.chat import Chat, day, money, the
from turngap.samples.shop import Order, Shop, any_address


class Ask(ABC):
    """One request; subclasses word it and play it out."""

    twists: ClassVar[tuple[str, ...]] = ("",)
    """The courses it can take."""
    sad = False
    """Whether it ends with a customer who did not get what they wanted."""

    def __init__(self, chat: Chat, order: Order, find: str, twist: str) -> None:
        self.chat, self.order, self.find, self.twist = chat, order, find, twist
        self.subject = order.bought[0]

    @staticmethod
    @abstractmethod
    def fits(order: Order, twist: str, shop: Shop) -> bool:
        """Whether the request makes sense for this order."""

    @abstractmethod
    def opening(self) -> str:
        """The customer's words that bring the request up."""

    @abstractmethod
    def goal(self) -> str:
        """What the customer wants, in one clause."""

    @abstractmethod
    def resolve(self) -> None:
        """Play the exchange out once the order was looked up; ends with words of the agent."""

    def locate(self) -> None:
        """Find the order: ask for it, or look through the account's orders; ends with the order looked up."""
        chat, order_id = self.chat, self.order.order_id
        if order_id in chat.seen:
            return
        if self.find in ("search", "parallel"):
            self._search()
            return
        if self.find == "asked":
            chat.agent(chat.agent_words("which.next" if chat.seen else "which"))
            chat.user(chat.customer_words("order", order=order_id))
        elif self.find == "wrong":
            wrong = self._mistyped()
            chat.call("get_order", order_id=wrong)
            chat.agent(chat.agent_words("which.retry", order=wrong))
            chat.user(chat.customer_words("order.corrected", order=order_id))
        chat.call("get_order", order_id=order_id)
        chat.seen.add(order_id)

    def _search(self) -> None:
        orders = self.chat.customer.orders
        if self.find == "parallel":
            self.chat.calls([("get_order", {"order_id": order_id}) for order_id in orders])
            self.chat.seen.update(orders)
            return
        for order_id in orders:
            self.chat.call("get_order", order_id=order_id)
            self.chat.seen.add(order_id)
            if order_id == self.order.order_id:
                return

    def _mistyped(self) -> str:
        """The order's id with two neighbouring digits swapped, or one changed; no order has it."""
        digits = self.order.order_id[3:]
        for place in range(len(digits) - 1):
            swapped = f"LF-{digits[:place]}{digits[place + 1]}{digits[place]}{digits[place + 2 :]}"
            if swapped != self.order.order_id and swapped not in self.chat.shop.orders:
                return swapped
        return f"LF-{int(digits) + 1}"

    def what(self) -> str:
        """How the customer speaks of the order."""
        if self.find in ("search", "parallel"):
            return f"the order with the {self.subject.product.name}"
        if self.find == "asked":
            return "my order"
        return f"order {self._mistyped() if self.find == 'wrong' else self.order.order_id}"

    def source(self) -> str:
        """How the customer says where an item came from."""
        if self.find in ("search", "parallel"):
            return " I got from you"
        return "" if self.find == "asked" else f" from {self.what()}"


class Status(Ask):
    """Where is it?"""

    @staticmethod
    def fits(order: Order, twist: str, shop: Shop) -> bool:  # noqa: ARG004 - the seam's signature
        """Any order that was not forgotten long ago."""
        return not order.late and (order.returnable or order.delivered is None)

    def opening(self) -> str:
        """Ask for news."""
        return self.chat.customer_words("status", what=self.what())

    def goal(self) -> str:
        """Know the state."""
        return f"learn where order {self.order.order_id} is"

    def resolve(self) -> None:
        """Tell."""
        order, chat = self.order, self.chat
        facts = {"order": order.order_id, "promised": day(order.promised)}
        if order.delivered:
            facts |= {"delivered": day(order.delivered), "street": order.address.street, "city": order.address.city}
        chat.agent(chat.agent_words(f"status.{order.status}", **facts), chat.agent_words("else"))


class Address(Ask):
    """Send it elsewhere; with ``save`` later orders too, with ``tell`` the address is asked for."""

    twists = ("", "save", "tell")

    def __init__(self, chat: Chat, order: Order, find: str, twist: str) -> None:
        super().__init__(chat, order, find, twist)
        self.new = any_address(chat.draw)

    @staticmethod
    def fits(order: Order, twist: str, shop: Shop) -> bool:  # noqa: ARG004 - the seam's signature
        """Not yet shipped."""
        return order.status == "processing"

    def opening(self) -> str:
        """Give the new address, or only say that there is one."""
        key = "address.asked" if self.twist == "tell" else "address.given"
        return self.chat.customer_words(key, what=self.what(), **self.new.fields())

    def goal(self) -> str:
        """Another address."""
        later = " and later orders" if self.twist == "save" else ""
        return f"have order {self.order.order_id}{later} sent to {self.new.street}, {self.new.city} {self.new.zip}"

    def resolve(self) -> None:
        """Propose, wait for the yes, change."""
        chat, order = self.chat, self.order
        if self.twist == "tell":
            chat.agent(chat.agent_words("address.ask", order=order.order_id))
            chat.user(chat.customer_words("address.tell", **self.new.fields()))
        chat.agent(chat.agent_words("address.propose", order=order.order_id, **self.new.fields()))
        save = self.twist == "save"
        chat.user(chat.customer_words("address.yes.save" if save else "address.yes"))
        arguments = {"order_id": order.order_id, **self.new.fields()}
        chat.call("change_address", **arguments, **({"save": True} if save else {}))
        done = chat.agent_words(
            "address.done.save" if save else "address.done", order=order.order_id, **self.new.fields()
        )
        chat.agent(done, chat.agent_words("else"))


class Cancel(Ask):
    """Cancel it; with ``keep`` the customer changes their mind, with ``readdress`` for another address."""

    twists = ("", "keep", "readdress")

    def __init__(self, chat: Chat, order: Order, find: str, twist: str) -> None:
        super().__init__(chat, order, find, twist)
        self.reason = chat.draw.choice(("not_needed", "mistake", "too_slow"))

    @staticmethod
    def fits(order: Order, twist: str, shop: Shop) -> bool:  # noqa: ARG004 - the seam's signature
        """Not yet shipped."""
        return order.status == "processing"

    def opening(self) -> str:
        """Ask for it, with a reason."""
        return self.chat.customer_words(f"cancel.{self.reason}", what=self.what())

    def goal(self) -> str:
        """Cancelled, or after all not."""
        end = {"keep": ", but keep it after all", "readdress": ", but rather have it sent elsewhere"}.get(
            self.twist, ""
        )
        return f"cancel order {self.order.order_id}{end}"

    def resolve(self) -> None:
        """Propose, wait for the yes, cancel; or follow the change of mind."""
        chat, order = self.chat, self.order
        facts = {"order": order.order_id, "total": money(order.total), "paid": order.paid_with}
        chat.agent(chat.agent_words("cancel.propose", items=the(order.bought), **facts))
        if self.twist == "keep":
            chat.user(chat.customer_words("cancel.keep", date=day(order.promised)))
            chat.agent(chat.agent_words("cancel.kept", order=order.order_id), chat.agent_words("else"))
        elif self.twist == "readdress":
            move = Address(chat, order, self.find, "")
            chat.user(chat.customer_words("cancel.readdress", **move.new.fields()))
            move.resolve()
        else:
            chat.yes()
            chat.call("cancel_order", order_id=order.order_id, reason=self.reason)
            chat.agent(chat.agent_words("cancel.done", **facts), chat.agent_words("else"))


class TooLate(Ask):
    """Cancel what has already shipped: the policy says no; with ``insist`` it says so twice."""

    twists = ("", "insist")
    sad = True

    @staticmethod
    def fits(order: Order, twist: str, shop: Shop) -> bool:  # noqa: ARG004 - the seam's signature
        """On its way."""
        return order.status == "shipped" and not order.late

    def opening(self) -> str:
        """Ask for it."""
        return self.chat.customer_words("cancel.not_needed", what=self.what())

    def goal(self) -> str:
        """Cancelled, which is not allowed."""
        return f"cancel order {self.order.order_id}, which has shipped (not allowed)"

    def resolve(self) -> None:
        """Refuse and explain."""
        chat = self.chat
        chat.agent(chat.agent_words("cancel.shipped", order=self.order.order_id))
        if self.twist == "insist":
            chat.user(chat.customer_words("cancel.insist"))
            chat.agent(chat.agent_words("cancel.firm"), chat.agent_words("else"))


class Late(Ask):
    """It has not come; with ``more`` the customer wants a second coupon."""

    twists = ("", "more")

    @staticmethod
    def fits(order: Order, twist: str, shop: Shop) -> bool:  # noqa: ARG004 - the seam's signature
        """Overdue."""
        return order.late

    def opening(self) -> str:
        """Complain."""
        return self.chat.customer_words("late", what=self.what())

    def goal(self) -> str:
        """An answer, and the coupon."""
        more = ", and a second one (not allowed)" if self.twist == "more" else ""
        return f"learn what happened to late order {self.order.order_id} and accept a coupon{more}"

    def resolve(self) -> None:
        """Offer the coupon, wait for the yes, give it once."""
        chat, order_id = self.chat, self.order.order_id
        chat.agent(chat.agent_words("late.offer", order=order_id, promised=day(self.order.promised)))
        chat.yes()
        chat.call("issue_coupon", order_id=order_id)
        chat.agent(chat.agent_words("late.done", coupon=self.order.coupon), chat.agent_words("else"))
        if self.twist == "more":
            chat.user(chat.customer_words("late.more"))
            chat.agent(chat.agent_words("late.once"), chat.agent_words("else"))


class HandOver(Ask):
    """Something for a colleague: ``damage`` or ``payment``."""

    twists = ("damage", "payment")

    @staticmethod
    def fits(order: Order, twist: str, shop: Shop) -> bool:  # noqa: ARG004 - the seam's signature
        """Damage needs a delivery."""
        return order.returnable if twist == "damage" else order.status != "cancelled"

    def opening(self) -> str:
        """Describe the trouble."""
        if self.twist == "damage":
            return self.chat.customer_words("damage", items=the([self.subject]), source=self.source())
        return self.chat.customer_words("payment", what=self.what())

    def goal(self) -> str:
        """A colleague."""
        return f"get help with a {self.twist} problem of order {self.order.order_id}"

    def resolve(self) -> None:
        """Offer the transfer, wait for the yes, transfer."""
        chat, order = self.chat, self.order
        if self.twist == "damage":
            chat.agent(chat.agent_words("damage.offer", items=the([self.subject]), order=order.order_id))
        else:
            facts = {"order": order.order_id, "total": money(order.total), "paid": order.paid_with}
            chat.agent(chat.agent_words("payment.offer", **facts))
        chat.yes()
        chat.call("transfer_to_human", topic=self.twist)
        chat.agent(chat.agent_words("transfer.done"))
