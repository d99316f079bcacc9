"""Imports are lazy and public names are listed."""

from __future__ import annotations

import ast
import importlib
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import saywhy

ROOT = Path(__file__).parents[1]
MODULES = sorted((ROOT / "src" / "saywhy").rglob("*.py"))
HEAVY = [
    "torch",
    "transformers",
    "sklearn",
    "pyarrow",
    "datasets",
    "accelerate",
    "scipy",
    "pandas",
    "matplotlib",
    "fastapi",
    "uvicorn",
]


def in_a_fresh_process(code: str) -> Any:
    code = f"import json, sys, time\nstart = time.process_time()\n{code}\nspent = time.process_time() - start\n" + (
        f"print(json.dumps([spent, [m for m in {HEAVY} if m in sys.modules]]))"
    )
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT, env={"PYTHONPATH": "src"}
    )
    return json.loads(run.stdout.splitlines()[-1])


@pytest.mark.parametrize(
    "code",
    [
        "import saywhy; dir(saywhy)",
        "from saywhy import Example, SayWhyError",
        "import saywhy.types, saywhy.registry, saywhy.errors, saywhy.display",
    ],
)
def test_the_front_door_opens_at_once(code: str) -> None:
    seconds, heavy = in_a_fresh_process(code)
    assert heavy == []
    assert seconds < 1.0  # CPU time; well under half a second on an idle machine


def test_every_public_name_is_found_and_stays_what_it_is() -> None:
    for name in saywhy.__all__:
        assert callable(getattr(saywhy, name))
    # A package of a function's name would shadow it once it is imported.
    importlib.import_module("saywhy.explainers.run")
    importlib.import_module("saywhy.objectives")
    importlib.import_module("saywhy.models.loading")
    assert callable(saywhy.explain)
    assert callable(saywhy.train)
    assert callable(saywhy.load)
    with pytest.raises(AttributeError, match="no attribute 'explian'"):
        saywhy.explian  # type: ignore[attr-defined]  # noqa: B018
    assert set(saywhy.__all__) <= set(dir(saywhy))


def listed(tree: ast.Module) -> list[str] | None:
    for node in tree.body:
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        if any(isinstance(target, ast.Name) and target.id == "__all__" for target in targets):
            return [str(name) for name in ast.literal_eval(node.value)]  # type: ignore[attr-defined]
    return None


def defined(tree: ast.Module) -> set[str]:
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    return {node.name for node in tree.body if isinstance(node, kinds) and not node.name.startswith("_")}


def imported(tree: ast.Module) -> set[str]:
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom | ast.Import) and getattr(node, "module", "") != "__future__":
            found |= {alias.asname or alias.name.split(".")[0] for alias in node.names}
    return found


def assigned(tree: ast.Module) -> set[str]:
    found = set()
    for node in tree.body:
        targets = (
            node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
        )
        names = [n for t in targets for n in (t.elts if isinstance(t, ast.Tuple) else [t])]
        found |= {n.id for n in names if isinstance(n, ast.Name)}
    return found


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(ROOT / "src" / "saywhy")))
def test_all_is_sorted_and_complete(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    names = listed(tree)
    if path.name == "__main__.py":
        return
    assert names is not None, "no __all__"
    assert len(set(names)) == len(names)
    # The order ruff keeps (RUF022): constants, then classes, then the rest, each in alphabetical order.
    assert names == sorted(names, key=lambda n: (0 if n.isupper() else 1 if n[0].isupper() else 2, n))
    # Commands of the command line are reached by their names there.
    if "cli" not in path.parts:
        assert defined(tree) <= set(names)
    assert set(names) <= defined(tree) | imported(tree) | assigned(tree)
