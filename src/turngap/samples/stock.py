"""What the sample shop sells and who buys there: the constants that its seeded database is drawn from.

Every person, address and product is invented; mail addresses are of domains reserved for examples.
"""

from __future__ import annotations

from typing import NamedTuple


class Line(NamedTuple):
    """One product of the catalogue."""

    name: str
    price: float
    options: dict[str, tuple[str, ...]]
    """Option name -> its values; every combination is one item."""
    final_sale: bool = False
    """Whether it cannot be returned; the tool knows, the order does not say."""


CATALOGUE = (
    Line("trail backpack", 89.0, {"color": ("green", "grey", "rust"), "volume": ("20 l", "30 l")}),
    Line("merino sweater", 74.5, {"color": ("navy", "oat"), "size": ("S", "M", "L")}),
    Line("cast-iron pan", 42.0, {"diameter": ("20 cm", "24 cm", "28 cm")}),
    Line("desk lamp", 56.9, {"color": ("black", "brass", "white")}),
    Line("rain jacket", 119.0, {"color": ("yellow", "blue"), "size": ("S", "M", "L", "XL")}),
    Line("wool blanket", 64.0, {"color": ("cream", "moss", "plum")}),
    Line("enamel mug", 12.5, {"color": ("blue", "red", "white")}),
    Line("yoga mat", 38.0, {"color": ("teal", "violet"), "thickness": ("4 mm", "6 mm")}),
    Line("steel bottle", 24.9, {"color": ("black", "mint"), "volume": ("0.5 l", "0.8 l")}),
    Line("teapot", 33.0, {"color": ("celadon", "indigo", "terracotta")}),
    Line("headlamp", 45.5, {"brightness": ("300 lm", "600 lm")}),
    Line("linen sheet set", 139.0, {"size": ("twin", "queen", "king"), "color": ("sand", "sage")}),
    Line("garden spade", 27.4, {"handle": ("short", "long")}),
    Line("pair of hiking socks", 16.0, {"size": ("S", "M", "L")}, final_sale=True),
    Line("scented candle", 18.0, {"scent": ("cedar", "fig")}, final_sale=True),
)

NAMES = (
    ("Zoë", "Brandt"), ("Marcus", "Whitfield"), ("Łukasz", "Nowak"), ("Priya", "Raman"), ("Hannah", "Cole"),
    ("Kwame", "Boateng"), ("Åsa", "Lindqvist"), ("Diego", "Fuentes"), ("Mei-Ling", "Tan"), ("Oliver", "Hargrove"),
    ("Siobhán", "O'Rourke"), ("Yuki", "Tanaka"), ("Fatima", "al-Sayed"), ("Tom", "Beckett"), ("José", "Ibáñez"),
    ("Amara", "Okafor"), ("Greta", "Vogel"), ("Nguyễn", "Lan"), ("Caleb", "Stone"), ("Ines", "Carvalho"),
    ("Dariusz", "Wójcik"), ("Leila", "Haddad"), ("Rosa", "Delgado"), ("Ethan", "Pruitt"), ("Chloé", "Marchand"),
    ("Ravi", "Menon"), ("Ingrid", "Solberg"), ("Joan", "Kessler"), ("Tariq", "Aziz"), ("Bea", "Lombardi"),
    ("Sven", "Ekström"), ("Nadia", "Petrova"), ("Walter", "Dunn"), ("Aiyana", "Begaye"), ("Min-jun", "Seo"),
    ("Paula", "Grant"), ("Émile", "Rousseau"), ("Grace", "Mwangi"), ("Victor", "Aldana"), ("Ruth", "Feldman"),
    ("Ifeoma", "Eze"), ("Callum", "Reid"), ("Jana", "Dvořák"), ("Henry", "Oakes"),
)  # fmt: skip
"""First and last names; pairs are unique."""

STREETS = (
    "Alder Lane", "Birch Street", "Canal Road", "Dover Court", "Elm Avenue", "Foundry Street", "Gull Way", "Hazel Road",
    "Ivy Terrace", "Juniper Drive", "Kiln Street", "Larch Avenue", "Mill Road", "Nettle Lane", "Orchard Street",
)  # fmt: skip
CITIES = (
    "Ashford Falls", "Brightwater", "Cedar Hollow", "Dunmore", "Eastbridge", "Fairhaven Bay", "Granite Pass",
    "Hartwell", "Lakemont", "Northfield Heights", "Pinecrest", "Riverton Park", "Stonebrook", "Willow Creek",
)  # fmt: skip
PAYMENTS = ("Visa ending 4417", "Visa ending 9032", "Mastercard ending 2185", "PayPal", "Amex ending 7001")
