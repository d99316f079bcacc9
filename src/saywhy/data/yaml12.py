"""YAML as version 1.2 has it, with the line on which everything stands."""

from __future__ import annotations

import re
from typing import Any

import yaml

__all__ = ["Lines", "read_yaml", "read_yaml_lines"]

Lines = dict[tuple[str | int, ...], int]
"""From the path of a value (keys and places in lists) to the line it stands on, counted from 1."""


class _Loader(yaml.SafeLoader):
    """YAML 1.2's idea of what is a truth value and a number: 1e-3 is one, and ``no`` can be a label."""


_TRUTH, _NUMBER = "tag:yaml.org,2002:bool", "tag:yaml.org,2002:float"
_Loader.yaml_implicit_resolvers = {
    key: [r for r in known if r[0] != _TRUTH] for key, known in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
_Loader.add_implicit_resolver(_TRUTH, re.compile("^(?:true|True|false|False)$"), list("tTfF"))
_Loader.add_implicit_resolver(_NUMBER, re.compile(r"^[-+]?[0-9]+(?:\.[0-9]*)?[eE][-+]?[0-9]+$"), list("-+0123456789"))


def read_yaml(text: str) -> Any:
    """The value of a document.

    Raises:
        yaml.YAMLError: it cannot be read.

    Example:
        >>> read_yaml("[no, 1e-3, true]")
        ['no', 0.001, True]
    """
    return yaml.load(text, Loader=_Loader)


def read_yaml_lines(text: str) -> tuple[Any, Lines]:
    r"""The value of a document, and the line of every part of it.

    Raises:
        yaml.YAMLError: it cannot be read, or a key comes twice.

    Example:
        >>> read_yaml_lines("a: 1\nb:\n  - x\n")[1]["b", 0]
        3
    """
    loader = _Loader(text)
    try:
        root = loader.get_single_node()
        if root is None:
            return None, {}
        lines: Lines = {}
        _walk(root, (), lines)
        return loader.construct_document(root), lines
    finally:
        loader.dispose()


def _walk(node: yaml.Node, path: tuple[str | int, ...], lines: Lines) -> None:
    lines.setdefault(path, node.start_mark.line + 1)
    if isinstance(node, yaml.MappingNode):
        seen: set[str] = set()
        for key, value in node.value:
            name = str(key.value)
            if name in seen:
                raise yaml.constructor.ConstructorError(None, None, f"the key {name!r} comes twice", key.start_mark)
            seen.add(name)
            lines[(*path, name)] = key.start_mark.line + 1
            _walk(value, (*path, name), lines)
    elif isinstance(node, yaml.SequenceNode):
        for place, value in enumerate(node.value):
            _walk(value, (*path, place), lines)
