from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.data.mini import write_root


@pytest.fixture(scope="session")
def mini_root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A root with a few made-up rows in every file."""
    return write_root(tmp_path_factory.mktemp("corpora"))


@pytest.fixture(scope="session")
def real_root() -> Path:
    """The folder with the corpora; tests that ask for it are marked `realdata`."""
    root = os.environ.get("SAYWHY_DATA", "")
    if not root or not Path(root).is_dir():
        pytest.skip("SAYWHY_DATA does not name a folder with the corpora")
    return Path(root)
