"""What a server allows: where it listens, who may ask, and how much."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass
from pathlib import Path

from saywhy.errors import OptionError

__all__ = ["Settings", "is_loopback"]


@dataclass(frozen=True)
class Settings:
    """Limits and places of a server.

    Attributes:
        host: address to listen on.
        port: port to listen on; 0 takes a free one.
        token: what every request must carry; None: nothing (only on this machine's own address).
        hosts: names by which the server may be called, besides ``host`` and this machine's own names.
        cache: folder for results; None keeps them in memory only.
        data: datasets or files whose examples are offered.
        reports: folders whose pages are offered.
        max_bytes: longest body of a request.
        max_words: most words of an input, all fields together.
        max_choices: most choices of a question.
        max_number: highest value of a method's whole-number option.
        max_rows: most rows of model input for one explanation, so that nobody asks for a billion samples.
        max_batch: most inputs that are explained together.
        max_waiting: most calls that wait for one model; beyond that the answer is "busy".
        max_jobs: most jobs that are not finished.
        max_streams: most open streams of events.
        kept_jobs: finished jobs that are remembered.
        timeout: seconds after which a request is given up and its work stopped.
        job_timeout: the same for jobs.
        grace: seconds that running jobs are given when the server is told to stop.
    """

    host: str = "127.0.0.1"
    port: int = 8000
    token: str | None = None
    hosts: tuple[str, ...] = ()
    cache: Path | None = None
    data: tuple[str, ...] = ()
    reports: tuple[Path, ...] = ()
    max_bytes: int = 4_000_000
    max_words: int = 2000
    max_choices: int = 16
    max_number: int = 10_000
    max_rows: int = 100_000
    max_batch: int = 16
    max_waiting: int = 256
    max_jobs: int = 32
    max_streams: int = 64
    kept_jobs: int = 100
    timeout: float = 60.0
    job_timeout: float = 3600.0
    grace: float = 5.0

    def __post_init__(self) -> None:
        for name in ("max_words", "max_batch", "timeout", "job_timeout"):
            if getattr(self, name) <= 0:
                raise OptionError(f"{name.replace('_', '-')} must be above 0, not {getattr(self, name)}")
        if not 0 <= self.port < 65536:
            raise OptionError(f"port must lie between 0 and 65535, not at {self.port}")
        if self.token is not None and (len(self.token) < 8 or not self.token.isascii() or not self.token.isprintable()):
            raise OptionError("a token has at least 8 printable ASCII characters")
        if self.token is None and not is_loopback(self.host):
            raise OptionError(f"whoever reaches {self.host} could use the models: a token is needed there")

    @property
    def names(self) -> frozenset[str]:
        """Names by which the server may be called; empty where any will do because a token is asked for."""
        if not is_loopback(self.host):
            return frozenset()
        return frozenset({"localhost", "127.0.0.1", "::1", self.host.lower(), *(name.lower() for name in self.hosts)})


def is_loopback(host: str) -> bool:
    """Whether an address can only be reached from this machine.

    Example:
        >>> is_loopback("127.0.0.1"), is_loopback("localhost"), is_loopback("0.0.0.0")
        (True, True, False)
    """
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
