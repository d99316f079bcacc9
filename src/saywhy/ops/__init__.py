"""Maths that knows no model: import what you need from its modules, such as `saywhy.ops.bootstrap`."""

from __future__ import annotations

__all__: list[str] = []
