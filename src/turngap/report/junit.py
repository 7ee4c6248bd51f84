"""A gate's result as JUnit XML: a test case for each rule; a failed one is a failure, an undecided one an error."""

from __future__ import annotations

import re
from xml.etree import ElementTree as ET

from turngap.analysis.gate import GateResult, Outcome
from turngap.report.ruling import measured, verdict

# What XML 1.0 cannot hold in any form: controls, surrogates, two non-characters.
_FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_ELEMENT = {Outcome.FAIL: "failure", Outcome.UNDECIDED: "error"}


def junit(result: GateResult) -> str:
    """The document, as text that says it is UTF-8."""
    counts = {
        "tests": str(len(result.rulings)),
        "failures": str(result.count(Outcome.FAIL)),
        "errors": str(result.count(Outcome.UNDECIDED)),
        "skipped": "0",
        "time": "0",
    }
    root = ET.Element("testsuites", {"name": "turngap gate", **counts})
    del root.attrib["skipped"]  # only suites have it
    suite = ET.SubElement(root, "testsuite", {"name": _clean(f"turngap gate {result.run}"), **counts})
    properties = ET.SubElement(suite, "properties")
    facts = {"run": result.run, "model": result.model, "baseline": result.baseline or "", "outcome": result.outcome}
    for name, fact in facts.items():
        ET.SubElement(properties, "property", {"name": name, "value": _clean(fact)})
    for ruling in result.rulings:
        case = ET.SubElement(
            suite, "testcase", {"classname": "turngap.gate", "name": _clean(ruling.rule.title), "time": "0"}
        )
        said = _clean(f"{measured(ruling)}\n{ruling.reason}")
        if ruling.outcome is Outcome.PASS:
            ET.SubElement(case, "system-out").text = said
        else:
            element = ET.SubElement(
                case, _ELEMENT[ruling.outcome], {"message": _clean(ruling.reason), "type": ruling.outcome.value}
            )
            element.text = said
    ET.SubElement(suite, "system-out").text = _clean("\n".join((verdict(result), *result.notes)))
    ET.indent(root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ET.tostring(root, encoding="unicode")}\n'


def _clean(text: str) -> str:
    return _FORBIDDEN.sub("\ufffd", text)
