from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers
from torch import Tensor

import saywhy
from saywhy.errors import CapabilityError, LoadError, OptionError
from saywhy.models import TextModel
from saywhy.models.attention_door import AttentionCall, AttentionTap, tap_attention
from saywhy.models.attention_module import attach, attached, explained_forward
from saywhy.models.encoding import content_mask
from saywhy.models.interpretable_attention import (
    LEVELS,
    READINGS,
    InterpretableAttention,
    build_interpretable_attention,
)
from saywhy.models.minilm import pretrained_with_head
from saywhy.models.smat_attention import SmatAttention
from saywhy.ops.simplex import NORMS
from saywhy.types import Example
from tests import zoo

LONG = " ".join(zoo.LINES[:2])


def with_module(architecture: str = "bert", **options: Any) -> tuple[TextModel, InterpretableAttention]:
    model = zoo.classifier(architecture)
    module = InterpretableAttention.of(model, **options)
    attach(model.module, module)
    return model, module


def stirred(module: torch.nn.Module, seed: int = 0) -> None:
    """Coefficients that differ, as after training."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.add_(0.5 * torch.randn(parameter.shape, generator=generator))


def explained(model: TextModel, module: Any, texts: list[str] | None = None) -> tuple[Tensor, Tensor, Any]:
    batch = model.task.collate(model.encode([Example((t,)) for t in texts or zoo.TEXTS]))
    with torch.no_grad():
        raw, r = explained_forward(model.module, model.task, batch, module)
    return raw, r, batch


@pytest.mark.parametrize("architecture", zoo.ARCHITECTURES)
@pytest.mark.parametrize("norm", NORMS)
def test_a_distribution_over_the_words_and_the_same_logits(architecture: str, norm: str) -> None:
    model = zoo.classifier(architecture)
    batch = model.task.collate(model.encode([Example((t,)) for t in zoo.TEXTS]))
    with torch.no_grad():
        before = model.task.raw(model.module, batch)
    for kind, options in [(InterpretableAttention, {"norm": norm, "reading": r}) for r in READINGS] + [
        (SmatAttention, {})
    ]:
        module = kind.of(model, **options)
        stirred(module)
        attach(model.module, module)
        raw, r, _ = explained(model, module)
        assert torch.equal(raw, before)
        content = content_mask(batch)
        assert float(r.min()) >= 0
        torch.testing.assert_close(r.sum(-1), torch.ones(len(r)), atol=1e-5, rtol=0)
        assert float(r[~content].abs().max()) == 0
        for i, text in enumerate(zoo.TEXTS):  # padding changes nothing
            _, alone, _ = explained(model, module, [text])
            torch.testing.assert_close(r[i, : alone.shape[1]], alone[0], atol=2e-5, rtol=1e-4)


def test_the_formula_by_hand() -> None:
    """Equations 1 to 5 written out with loops over layers, heads and pieces, for softmax."""
    model, module = with_module()
    stirred(module)
    _, r, batch = explained(model, module)
    with torch.no_grad(), tap_attention(model.module, AttentionTap()) as tap:
        model.task.raw(model.module, batch)
    content = content_mask(batch)
    for row in range(len(r)):
        inside = torch.nonzero(content[row]).squeeze(1)
        layers = []
        for number, call in enumerate(tap.calls):
            heads = []
            for h in range(module.heads):
                q = (call.query[row, h, inside] * module.query[number, h]).softmax(-1)
                k = (call.key[row, h, inside] * module.key[number, h]).softmax(-1)
                psi = (q @ k.T).mean(0)
                psi = (psi - psi.mean()) / psi.std(correction=0) if len(psi) > 1 else psi * 0
                heads.append(module.head[number, h] * psi)
            joint = torch.stack(heads).flatten().softmax(0)
            layers.append(module.layer[number] * (joint * len(joint)).log())
        expected = torch.cat(layers).softmax(0).reshape(-1, len(inside)).sum(0)
        torch.testing.assert_close(r[row, inside], expected, atol=1e-4, rtol=1e-3)


def test_smat_by_hand() -> None:
    model = zoo.classifier()
    module = SmatAttention.of(model)
    stirred(module)
    _, r, batch = explained(model, module, zoo.TEXTS[:1])
    with torch.no_grad(), tap_attention(model.module, AttentionTap()) as tap:
        model.task.raw(model.module, batch)
    inside = torch.nonzero(content_mask(batch)[0]).squeeze(1)
    import entmax

    weights = entmax.sparsemax(module.head.detach().reshape(-1), 0)
    tables = torch.cat([(c.query @ c.key.transpose(-1, -2))[0] * c.scaling for c in tap.calls])
    scores = (tables[:, inside][:, :, inside].mean(1) * weights[:, None]).sum(0)
    torch.testing.assert_close(r[0, inside], scores.softmax(0), atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("reading", READINGS)
def test_at_first_it_is_far_from_uniform_and_from_one_word(norm: str, reading: str) -> None:
    # As many layers, heads and pieces as a pretrained encoder has; queries and keys that agree a little among heads.
    generator = torch.Generator().manual_seed(0)
    for length in (20, 200):
        common = torch.randn(1, 1, length, 32, generator=generator)
        calls = []
        for number in range(6):
            query, key = (common + torch.randn(1, 12, length, 32, generator=generator) for _ in range(2))
            calls.append(AttentionCall(number, "self", query, key, None, 1.0, False))
        module = InterpretableAttention(range(6), 12, 32, norm=norm, reading=reading)
        with torch.no_grad():
            r = module(calls, torch.ones(1, length, dtype=torch.bool))[0]
        assert float(r.std() * length) > 0.1  # uniform would have 0
        assert 1 / float(r.square().sum()) > length / 5  # words that count: one hot would have 1


def test_sparsemax_with_large_coefficients_has_zeros() -> None:
    model, module = with_module(norm="sparsemax")
    with torch.no_grad():
        module.head.fill_(10.0)
    _, r, batch = explained(model, module, [LONG])
    inside = r[content_mask(batch)]
    assert int((inside == 0).sum()) >= len(inside) // 3
    torch.testing.assert_close(r.sum(), torch.tensor(1.0))


@pytest.mark.parametrize("levels", [["feature"], ["head"], ["layer"], ["feature", "layer"], list(LEVELS)])
def test_only_the_levels_that_are_asked_for_are_trained(levels: list[str]) -> None:
    model, module = with_module(levels=levels)
    owner = {"query": "feature", "key": "feature", "head": "head", "layer": "layer"}
    assert {name for name, _ in module.named_parameters()} == {n for n, level in owner.items() if level in levels}
    batch = model.task.collate(model.encode([Example((t,)) for t in zoo.TEXTS]))
    _, r = explained_forward(model.module, model.task, batch, module)
    (r[0, 1] + r[2, 3].square()).backward()
    assert all(p.grad is not None and float(p.grad.abs().max()) > 0 for p in module.parameters())
    # Through queries and keys the explanation trains the network too.
    assert float(model.module.bert.encoder.layer[0].attention.self.query.weight.grad.abs().max()) > 0


def test_coefficients_as_heat_maps() -> None:
    _, module = with_module(levels=["feature", "layer"])
    with torch.no_grad():
        module.query[1, 0] += 2.0
        module.layer[0] = 0.5
    maps = module.maps()
    assert list(maps) == ["query coefficients", "key coefficients", "layer coefficients"]
    layers, heads = module.query.shape[:2]
    query = np.array(maps["query coefficients"]["values"])
    expected = np.ones((layers, heads))
    expected[1, 0] = 3.0
    np.testing.assert_allclose(query, expected, rtol=1e-6)
    assert maps["layer coefficients"]["values"][0] == [0.5]
    assert all(len(m["rows"]) == layers and m["middle"] == 1 for m in maps.values())
    assert len(maps["key coefficients"]["columns"]) == heads


def test_levels_with_commas() -> None:
    assert with_module(levels="head, feature")[1].levels == ("feature", "head")


def test_smats_coefficients_as_a_heat_map() -> None:
    module = SmatAttention([0, 2], heads=4, width=8)
    with torch.no_grad():
        module.head[1, 2] = 1.0
    (drawn,) = module.maps().values()
    expected = np.full((2, 4), 0.25)
    expected[1, 2] = 1.0
    np.testing.assert_allclose(drawn["values"], expected)
    assert (drawn["middle"], drawn["rows"], drawn["columns"]) == (0.25, ["layer 1", "layer 2"], ["1", "2", "3", "4"])


def test_a_text_without_words_and_one_of_one_word() -> None:
    model, module = with_module(norm="sparsemax")
    _, r, _ = explained(model, module, ["", "a", zoo.TEXTS[0]])
    assert float(r[0].abs().max()) == 0
    assert r[1].sort().values[-2:].tolist() == [0.0, 1.0]
    (call,) = [AttentionCall(0, "self", torch.ones(1, 4, 3, 8), torch.ones(1, 4, 3, 8), None, 1.0, False)]
    module = InterpretableAttention([0], 4, 8)
    r = module([call], torch.ones(1, 3, dtype=torch.bool))
    torch.testing.assert_close(r, torch.full((1, 3), 1 / 3))
    r[0, 0].backward()
    assert bool(module.query.grad.isfinite().all())  # type: ignore[union-attr]


@pytest.mark.slow
def test_loaded_in_another_process(tmp_path: Path) -> None:
    model, module = with_module("llama", norm="sparsemax")
    stirred(module)
    expected: Any = saywhy.explain(model, zoo.TEXTS[0], "ivra")
    model.save(tmp_path)
    code = (
        "import sys, saywhy; m = saywhy.load(sys.argv[1]); print(m.fingerprint);"
        "print(*saywhy.explain(m, sys.argv[2], 'ivra').scores)"
    )
    command = [sys.executable, "-c", code, str(tmp_path), zoo.TEXTS[0]]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    fingerprint, scores = done.stdout.strip().split("\n")
    assert fingerprint == model.fingerprint
    np.testing.assert_allclose([float(s) for s in scores.split()], expected.scores, atol=1e-6)


@pytest.mark.parametrize("architecture", ["bert", "gpt2", "llama"])
def test_saved_and_loaded(architecture: str, tmp_path: Path) -> None:
    model, module = with_module(architecture, norm="sparsemax", levels=["head", "feature"])
    stirred(module)
    attach(model.module, SmatAttention.of(model))
    expected = [saywhy.explain(model, zoo.TEXTS, method) for method in ("ivra", "smat")]
    model.save(tmp_path / "m")
    loaded = saywhy.load(tmp_path / "m")
    assert loaded.fingerprint == model.fingerprint
    assert [saywhy.explain(loaded, zoo.TEXTS, method) for method in ("ivra", "smat")] == expected
    # Any other tool loads the folder as an ordinary network.
    plain = transformers.AutoModelForSequenceClassification.from_pretrained(tmp_path / "m")
    assert not any("attention_module" in name or "interpretable" in name for name, _ in plain.named_modules())
    found = attached(loaded.module, InterpretableAttention)
    assert found is not None
    assert found.settings == module.settings
    # A new head keeps the coefficients: that is how they are transferred to other data.
    network, _ = pretrained_with_head(tmp_path / "m", "text", ["a", "b"], 0)
    moved = attached(network, InterpretableAttention)
    assert moved is not None
    assert torch.equal(moved.head, module.head)


def test_a_folder_that_lost_the_coefficients(tmp_path: Path) -> None:
    model, _ = with_module()
    model.save(tmp_path)
    del model.module.interpretable_attention
    model.module.save_pretrained(tmp_path)
    with pytest.raises(LoadError, match="does not hold the weights of its interpretable_attention"):
        saywhy.load(tmp_path)


@pytest.mark.parametrize("base", ["text-transformer", "folder"])
def test_built_by_name(base: str, tmp_path: Path) -> None:
    examples = [Example((t,), label="yes") for t in zoo.LINES]
    options: dict[str, Any] = {"base": base, "base_options": {"layers": 2, "width": 32}}
    if base == "folder":
        zoo.classifier("electra").save(tmp_path)
        options = {"base": str(tmp_path)}
    network, tokenizer = build_interpretable_attention(examples, "text", ["no", "yes"], 0, norm="entmax15", **options)
    model = TextModel(network, tokenizer, "text", ["no", "yes"])
    why: Any = saywhy.explain(model, "A dull film", "ivra")
    assert sum(why.scores) == pytest.approx(1, abs=1e-5)
    assert why.header.parameters["norm"] == "entmax15"


def test_mistakes() -> None:
    model = zoo.shared()
    with pytest.raises(OptionError, match="levels must be some of"):
        InterpretableAttention.of(model, levels=["word"])
    with pytest.raises(OptionError, match="norm must be one of"):
        InterpretableAttention.of(model, norm="l1")
    with pytest.raises(OptionError, match="reading must be one of"):
        InterpretableAttention.of(model, reading="A")
    with pytest.raises(CapabilityError, match="no attention to read"):
        InterpretableAttention.of(zoo.shared("mpnet"))
    with pytest.raises(OptionError, match="base_options go with a name"):
        build_interpretable_attention([], "text", ["a", "b"], 0, base="some/folder", base_options={"layers": 2})
