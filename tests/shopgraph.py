"""A small retail domain for tests of the graph, and its graph, made once."""

from __future__ import annotations

from functools import cache

from turngap.domains.api import Domain
from turngap.domains.retail.domain import retail
from turngap.domains.retail.generate import Sizes, generate
from turngap.synth.graph import ToolGraph, build


@cache
def shop() -> Domain:
    """Some customers, orders and products."""
    sizes = Sizes(categories=12, users=30, orders=80)
    database = generate(5, sizes)
    return retail({"products": database.products, "users": database.users, "orders": database.orders})


@cache
def shop_graph() -> ToolGraph:
    """The graph of the shop's tools."""
    return build(shop())
