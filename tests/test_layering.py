"""The rooms of the house: an import never points upward."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1] / "src" / "saywhy"
ROOMS = [
    {"cli", "server", "__main__", "pytest_plugin"},
    {"audits", "benchmarks", "reports", "studies"},
    {"metrics"},
    {"objectives"},
    {"explainers"},
    {"loop"},
    {"models"},
    {"data"},
    {"ops"},
    {"types", "registry", "errors", "display", "lazy", "memory", "plain"},
]
LEVEL = {name: len(ROOMS) - i for i, names in enumerate(ROOMS) for name in names}
MODULES = sorted(ROOT.rglob("*.py"))


def room_of(path: Path) -> str:
    return path.relative_to(ROOT).with_suffix("").parts[0]


def imports(tree: ast.AST, package: list[str]) -> Iterator[tuple[int, str]]:
    """Line and full name of everything imported, at the top or inside of functions; not what only mypy sees."""
    hidden = {
        id(child)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
        for child in ast.walk(node)
    }
    for node in ast.walk(tree):
        if id(node) in hidden:
            continue
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node.lineno, alias.name
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            name = ".".join([*base, *([node.module] if node.module else [])])
            if name == "saywhy":
                for alias in node.names:
                    yield node.lineno, f"saywhy.{alias.name}"
            else:
                yield node.lineno, name


def upward(source: str, room: str, package: list[str]) -> list[str]:
    found = []
    for line, name in imports(ast.parse(source), package):
        parts = name.split(".")
        if parts[0] == "saywhy" and len(parts) > 1 and parts[1] in LEVEL and LEVEL[parts[1]] > LEVEL[room]:
            found.append(f"line {line} imports {name}")
    return found


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(ROOT)))
def test_no_import_points_upward(path: Path) -> None:
    room = room_of(path)
    if room == "__init__":
        return  # the front door looks names up on first use
    assert room in LEVEL, f"{room} is in no room of the house"
    package = ["saywhy", *path.relative_to(ROOT).parts[:-1]]
    assert upward(path.read_text(encoding="utf-8"), room, package) == []


def test_the_test_sees_what_points_upward() -> None:
    package = ["saywhy", "models"]
    assert upward("from saywhy.metrics import evaluate", "models", package)
    assert upward("def f():\n    import saywhy.explainers.run", "models", package)
    assert upward("from saywhy import explainers", "models", package)
    assert upward("from ..explainers import run", "models", package)
    assert not upward("from saywhy.models.tasks import Task\nfrom .tasks import Task", "models", package)
    assert not upward("from saywhy.data import words\nimport torch\nimport saywhy", "models", package)
    assert not upward("if TYPE_CHECKING:\n    from saywhy.metrics import evaluate", "models", package)


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(ROOT)))
def test_files_stay_small_enough_to_read(path: Path) -> None:
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 400
