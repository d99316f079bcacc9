from __future__ import annotations

import os

# Tests never go to the network, and fork-happy tokenizers only warn.
os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
