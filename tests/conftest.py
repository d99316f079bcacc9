from __future__ import annotations

import os

import hypothesis

# Tests never go to the network, and fork-happy tokenizers only warn.
os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

# A busy machine is no error. In CI the same cases run every time; a developer's runs look for new ones.
hypothesis.settings.register_profile("here", deadline=None)
hypothesis.settings.register_profile("ci", deadline=None, derandomize=True)
hypothesis.settings.load_profile("ci" if os.environ.get("CI") else "here")
