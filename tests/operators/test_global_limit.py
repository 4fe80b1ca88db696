"""Expiry of a limit."""

from __future__ import annotations

from inspector.operators.global_limit import rule
from inspector.operators.rule import OperatorShape
from inspector.sparktypes.ddl import parse_ddl


def test_global_limit_has_no_expiry_and_no_leak() -> None:
    schemas = {"default": (parse_ddl("key void"), parse_ddl("value long"))}
    result = rule(OperatorShape("globalLimit", schemas), "default")
    assert (result.expiry, result.never) == (None, None)
    assert "one row" in (result.unknown or "")
