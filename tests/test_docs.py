"""The README and the documentation are right: what they print runs, and their tables are those of the registries.

Pages run as printed, from top to bottom, each in a folder of its own, with three differences that save time and data:
planted corpora are small, training and evaluation see a few examples, and `STAND_INS` take the place of what must be
downloaded. The models in the folders that the pages name are small and untrained. Outputs are checked where a page
shows them (``>>>``).
"""

from __future__ import annotations

import doctest
import importlib
import importlib.util
import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import saywhy
from saywhy.cli import main
from saywhy.cli.listing import KINDS, registry
from saywhy.data.planted_text import COUNTS
from saywhy.models import TextModel
from saywhy.models.networks import networks
from saywhy.types import Example

ROOT = Path(__file__).resolve().parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
FEW, MODEL = 12, {"layers": 1, "width": 32, "heads": 2}
STAND_INS = {"sst2": "planted-reviews", "minilm": "text-transformer"}
# They install things, or take minutes; other tests and the Makefile run them.
NOT_RUN = (
    ("make",),
    ("source",),
    ("pip",),
    ("saywhy", "demo"),
    ("saywhy", "bench"),
    ("saywhy", "serve"),
    ("saywhy", "study", "studies/planted.yaml"),
)

_FENCE = re.compile(r"^```(\w+)([^\n]*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_TITLE = re.compile(r'title="([^"]+)"')


@dataclass(frozen=True)
class Block:
    language: str
    title: str | None
    code: str
    line: int


def blocks(page: Path) -> list[Block]:
    text = page.read_text(encoding="utf-8")
    found = []
    for match in _FENCE.finditer(text):
        title = _TITLE.search(match[2])
        found.append(Block(match[1], title and title[1], match[3], text[: match.start()].count("\n") + 2))
    return found


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Small models for the folders that the pages name."""
    root = tmp_path_factory.mktemp("models")
    qa = [Example(("Where is the key?", "Ben put the key in the box."))]
    made = {
        "text": ("planted-reviews", ("negative", "positive"), ("demo/model", "runs/sst2", "runs/demo")),
        "pair": ("planted-nli", ("entailment", "neutral", "contradiction"), ("runs/nli",)),
        "choices": ("planted-choices", (), ("runs/choices",)),
        "span-qa": ("", (), ("runs/qa",)),
    }
    folders = {}
    for task, (dataset, labels, places) in made.items():
        examples = saywhy.load_dataset(dataset, split="test", n={"test": FEW}) if dataset else qa
        network, tokenizer = networks["text-transformer"].value(examples, task, labels, 0, **MODEL)
        TextModel(network, tokenizer, task, labels).save(root / task)
        folders |= dict.fromkeys(places, root / task)
    reviews = saywhy.load_dataset("planted-reviews", split="test", n={"test": FEW})
    labels = ("negative", "positive")
    TextModel(*networks["rationalizer"].value(reviews, "text", labels, 0), "text", labels).save(root / "rationalizer")
    folders["runs/rationalizer"] = root / "rationalizer"
    return folders


@pytest.fixture
def page_folder(tmp_path: Path, models: dict[str, Path], monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A working folder as the pages expect it; what a page registers is forgotten afterwards."""
    for place, model in models.items():
        (tmp_path / place).parent.mkdir(exist_ok=True)
        (tmp_path / place).symlink_to(model, target_is_directory=True)
    rows = [f"{'good' if i % 2 else 'bad'} thing number {i},{'yes' if i % 2 else 'no'}" for i in range(40)]
    (tmp_path / "my.csv").write_text("\n".join(["text,label", *rows]), encoding="utf-8")
    (tmp_path / "reviews.csv").write_text("\n".join(["body,stars", *rows]), encoding="utf-8")
    (tmp_path / "model.py").write_text("def predict_proba(texts):\n    return [[0.5, 0.5]] * len(texts)\n")
    monkeypatch.chdir(tmp_path)
    for split in COUNTS:
        monkeypatch.setitem(COUNTS, split, 2 * FEW)
    train, evaluate = saywhy.train, saywhy.evaluate

    def train_little(*args: Any, **options: Any) -> Any:
        return train(*args, **{**options, "limit": FEW, "epochs": 1, "quiet": True})

    def evaluate_few(*args: Any, **options: Any) -> Any:
        return evaluate(*args, **{**options, "limit": min(options.get("limit") or 6, 6)})

    monkeypatch.setattr(saywhy, "train", train_little)
    monkeypatch.setattr(saywhy, "evaluate", evaluate_few)
    known = {kind: dict(registry(kind)._entries) for kind in KINDS}
    yield tmp_path
    for kind, entries in known.items():
        registry(kind)._entries = entries


def run_command(words: list[str]) -> str:
    """What went wrong, or nothing."""
    if words[0] != "saywhy":
        return f"a page shows the command {words[0]!r}, which nothing runs"
    arguments = [STAND_INS.get(word, word) for word in words[1:]]
    if arguments[0] == "train":
        folder = Path(arguments[arguments.index("--out") + 1]) if "--out" in arguments else None
        if folder is not None and folder.is_symlink():
            folder.unlink()
        arguments += ["--limit", str(FEW), "--epochs", "1", "--no-test"]
    if arguments[0] in ("evaluate", "check", "diff", "overview", "sanity"):
        arguments += ["--limit", "6"]
    if arguments[0] == "counterfactual":
        arguments += ["--limit", "3", "--budget", "20"]
    try:
        main(arguments)
        code = 0
    except SystemExit as end:
        code = int(end.code or 0)
    # A gate that a model without training does not pass has done its work.
    good = code == 0 or (code == 1 and arguments[0] == "check")
    return "" if good else f"{shlex.join(words)} ended with {code}"


def run_console(code: str) -> str:
    for line in code.splitlines():
        if not line.startswith("$ "):
            continue
        words = shlex.split(line[2:], comments=True)
        if not any(tuple(words[: len(start)]) == start for start in NOT_RUN):
            wrong = run_command(words)
            if wrong:
                return wrong
    return ""


def run_session(page: Path, block: Block, names: dict[str, Any]) -> str:
    test = doctest.DocTestParser().get_doctest(block.code, names, name_of(page), str(page), block.line - 1)
    output: list[str] = []
    result = doctest.DocTestRunner(verbose=False).run(test, out=output.append, clear_globs=False)
    names |= test.globs
    return "".join(output) if result.failed else ""


# A rationalizer that saw twelve texts selects what it likes.
@pytest.mark.filterwarnings("ignore:the selection collapsed", "ignore:.*of the words are selected, not")
@pytest.mark.parametrize("page", [p for p in PAGES if blocks(p)], ids=name_of)
def test_page_runs(page: Path, page_folder: Path) -> None:
    names: dict[str, Any] = {"__name__": "page"}
    for block in blocks(page):
        wrong = ""
        if block.title is not None:
            (page_folder / block.title).write_text(block.code, encoding="utf-8")
        elif block.language == "python":
            exec(compile("\n" * (block.line - 1) + block.code, str(page), "exec", dont_inherit=True), names)
        elif block.language == "pycon":
            wrong = run_session(page, block, names)
        elif block.language == "console":
            wrong = run_console(block.code)
        else:
            wrong = f"nothing runs blocks of {block.language!r}"
        assert not wrong, f"{name_of(page)}:{block.line}: {wrong}"


def tables() -> ModuleType:
    found = importlib.util.spec_from_file_location("tables", ROOT / "scripts" / "tables.py")
    assert found is not None
    assert found.loader is not None
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module


def test_tables_are_those_of_the_registries(capsys: pytest.CaptureFixture[str]) -> None:
    assert tables().main(["--check"]) == 0, capsys.readouterr().out


def test_a_stale_table_is_noticed() -> None:
    script = tables()
    page = "before\n\n<!-- table: objectives -->\noutdated\n<!-- end of table -->\n\nbetween\n\n"
    page += "<!-- table: models -->\n<!-- end of table -->\n\nafter\n"
    made = script.rewrite(page)
    assert "`plain`" in made
    assert "`gru`" in made
    assert "outdated" not in made
    assert [word for word in ("before", "between", "after") if word in made] == ["before", "between", "after"]
    assert script.rewrite(made) == made


PAPERS = sorted((ROOT / "docs" / "papers").glob("*.md"))


def test_every_paper_is_in_the_summary() -> None:
    (summary,) = (page for page in PAPERS if page.name == "index.md")
    linked = set(re.findall(r"\]\((\w+\.md)\)", summary.read_text(encoding="utf-8")))
    assert linked == {page.name for page in PAPERS} - {"index.md"}


@pytest.mark.parametrize("page", [page for page in PAPERS if page.name != "index.md"], ids=name_of)
def test_papers_promise_nothing_that_is_there_and_show_nothing_that_is_not(page: Path) -> None:
    known = {entry.name for kind in KINDS for entry in registry(kind)}
    text = page.read_text(encoding="utf-8")
    parts = dict(re.findall(r"^## ([^\n]+)\n(.*?)(?=^## |\Z)", text, re.DOTALL | re.MULTILINE))
    planned = set(re.findall(r"`([a-z0-9-]+)`", parts.get("Planned", "")))
    assert planned or "Planned" not in parts
    assert not planned & known, "this exists now: say so under 'In saywhy today'"
    # A name with a hyphen at its end stands for several.
    today = set(re.findall(r"`([a-z0-9-]+)`", parts["In saywhy today"]))
    assert not {n for n in today if not any(k == n or (n.endswith("-") and k.startswith(n)) for k in known)}


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_lead_somewhere(page: Path) -> None:
    text = _FENCE.sub("", page.read_text(encoding="utf-8"))
    for target in re.findall(r"\]\(([^)\s#]+)[^)]*\)", text):
        if "://" not in target:
            assert (page.parent / target).exists(), f"{name_of(page)} links to {target}"


def doctested() -> list[str]:
    source = ROOT / "src"
    files = [f for f in sorted(source.rglob("*.py")) if ">>>" in f.read_text(encoding="utf-8")]
    parts = [f.relative_to(source).with_suffix("").parts for f in files]
    return [".".join(p[:-1] if p[-1] == "__init__" else p) for p in parts]


@pytest.mark.parametrize("module", doctested())
def test_examples_in_docstrings(module: str, capsys: pytest.CaptureFixture[str]) -> None:
    result = doctest.testmod(importlib.import_module(module))
    assert not result.failed, capsys.readouterr().out
