"""The command line: `saywhy demo | explain | train | evaluate | data | list`."""

from saywhy.cli.app import main

__all__ = ["main"]
