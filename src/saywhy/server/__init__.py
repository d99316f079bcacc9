"""The page and its API: `saywhy serve`.

Needs the extra ``saywhy[serve]``; nothing else in saywhy imports this package.
"""

from __future__ import annotations

from saywhy.server.app import make_app
from saywhy.server.run import running, serve
from saywhy.server.settings import Settings

__all__ = ["Settings", "make_app", "running", "serve"]
