from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from torch import nn

from saywhy.errors import LoadError, SayWhyWarning
from saywhy.loop import CheckpointFolder
from saywhy.loop.checkpoint import optimiser_from_tensors, optimiser_tensors
from tests.loop.toys import Game, Regression, same, weights


def save(folder: CheckpointFolder, step: int, objective: Regression | Game) -> None:
    folder.save("step", step, objective.players, {}, {"step": step, "best": None})


def test_round_trip_with_optimiser(tmp_path: Path) -> None:
    objective = Regression()
    network = objective.players["network"]
    optimiser = torch.optim.AdamW(network.parameters())
    for _ in range(3):
        network(torch.ones(2, 4)).sum().backward()
        optimiser.step()
    folder = CheckpointFolder(tmp_path)
    folder.save("step", 3, objective.players, {"network": optimiser}, {"step": 3, "best": None})
    other = Regression()
    fresh = torch.optim.AdamW(other.players["network"].parameters())
    folder.load("step-000000003", other.players, {"network": fresh})
    assert same(weights(objective), weights(other))
    assert same(optimiser_tensors(optimiser), optimiser_tensors(fresh))
    assert len(optimiser_tensors(fresh)) == 3 * len(list(network.parameters()))


def test_momentum_round_trip() -> None:
    parameter = nn.Parameter(torch.ones(2))
    optimiser = torch.optim.SGD([parameter], lr=0.1, momentum=0.9)
    parameter.sum().backward()
    optimiser.step()
    fresh = torch.optim.SGD([parameter], lr=0.1, momentum=0.9)
    optimiser_from_tensors(fresh, optimiser_tensors(optimiser))
    assert torch.equal(fresh.state[parameter]["momentum_buffer"], optimiser.state[parameter]["momentum_buffer"])


def test_tied_weights_are_written(tmp_path: Path) -> None:
    tied = nn.ModuleDict({"a": nn.Linear(2, 2), "b": nn.Linear(2, 2)})
    tied["b"].weight = tied["a"].weight
    folder = CheckpointFolder(tmp_path)
    folder.save("best", 1, {"tied": tied}, {}, {})
    expected = tied["a"].weight.detach().clone()
    with torch.no_grad():
        tied["a"].weight.zero_()
    folder.load("best-000000001", {"tied": tied})
    assert torch.equal(tied["b"].weight, expected)


@pytest.mark.parametrize("damage", ["truncate", "flip", "missing", "state", "no-state"])
def test_a_torn_checkpoint_gives_way_to_the_one_before(tmp_path: Path, damage: str) -> None:
    folder = CheckpointFolder(tmp_path)
    for step in (1, 2):
        save(folder, step, Regression())
    newest = tmp_path / "step-000000002"
    file = newest / "network.safetensors"
    if damage == "truncate":
        file.write_bytes(file.read_bytes()[:-10])
    elif damage == "flip":
        content = bytearray(file.read_bytes())
        content[-1] ^= 1
        file.write_bytes(bytes(content))
    elif damage == "missing":
        file.unlink()
    elif damage == "state":
        (newest / "state.json").write_text('{"format": "saywhy-ch')
    else:
        (newest / "state.json").unlink()
    with pytest.warns(SayWhyWarning, match="torn"):
        found = folder.newest()
    assert found is not None
    assert found[0] == "step-000000001"


def test_nothing_whole_left_is_an_error(tmp_path: Path) -> None:
    folder = CheckpointFolder(tmp_path)
    assert folder.newest() is None
    save(folder, 1, Regression())
    (tmp_path / "step-000000001" / "network.safetensors").unlink()
    with pytest.raises(LoadError, match="resume=False"):
        folder.newest()


@pytest.mark.parametrize(
    ("content", "message"), [({"a": 1}, "not a saywhy"), ({"format": "saywhy-checkpoint"}, "version")]
)
def test_foreign_folders(tmp_path: Path, content: dict[str, object], message: str) -> None:
    (tmp_path / "step-000000001").mkdir()
    (tmp_path / "step-000000001" / "state.json").write_text(json.dumps(content))
    with pytest.raises(LoadError, match=message):
        CheckpointFolder(tmp_path).newest()


def test_other_players_and_other_shapes(tmp_path: Path) -> None:
    folder = CheckpointFolder(tmp_path)
    save(folder, 1, Regression())
    with pytest.raises(LoadError, match=r"no player 'actor'; it holds network"):
        folder.load("step-000000001", Game().players)
    with pytest.raises(LoadError, match="does not fit the player 'network'"):
        folder.load("step-000000001", {"network": nn.Sequential(nn.Linear(4, 9))})


def test_an_unfinished_write_is_not_seen_and_old_ones_go(tmp_path: Path) -> None:
    folder = CheckpointFolder(tmp_path)
    (tmp_path / ".step-000000009.tmp").mkdir()
    objective = Regression()
    folder.save("best", 1, objective.players, {}, {})
    for step in (1, 2, 3, 4):
        folder.save("step", step, objective.players, {}, {"step": step, "best": "best-000000001"})
        if step == 3:
            folder.save("best", 3, objective.players, {}, {})
    assert folder.names("step") == ["step-000000004", "step-000000003"]
    assert folder.names("best") == ["best-000000003", "best-000000001"]  # the older one is still referred to
    folder.remove()
    assert not tmp_path.exists()
