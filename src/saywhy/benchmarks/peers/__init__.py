"""Workers that run inside of the peers' environments; nothing else imports them."""

from __future__ import annotations

__all__: list[str] = []
