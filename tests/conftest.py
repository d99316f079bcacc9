from __future__ import annotations

import os
from pathlib import Path

import hypothesis
import pytest

# Tests never go to the network, and fork-happy tokenizers only warn.
os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

# A busy machine is no error. In CI the same cases run every time; a developer's runs look for new ones.
hypothesis.settings.register_profile("here", deadline=None)
hypothesis.settings.register_profile("ci", deadline=None, derandomize=True)
hypothesis.settings.load_profile("ci" if os.environ.get("CI") else "here")


def pytest_runtest_setup(item: pytest.Item) -> None:
    """What needs the corpora is skipped where they are absent, and says so."""
    root = os.environ.get("SAYWHY_DATA", "")
    if item.get_closest_marker("realdata") is not None and not (root and Path(root).is_dir()):
        pytest.skip("SAYWHY_DATA does not name a folder with the corpora")
