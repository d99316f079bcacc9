"""The table: ratios, what is missed, and how it is written."""

from __future__ import annotations

import json
from pathlib import Path

from rich.console import Console

from saywhy.benchmarks.table import HIGHEST_OVER_FLOOR, PeerTable, Row, write_table


def table(*rows: Row) -> PeerTable:
    return PeerTable(rows, "runs/x", "abc", "sst2", 0, {"saywhy": "1"}, ("lime does not install here: no wheel",))


def test_ratios_and_what_is_missed() -> None:
    good = Row("lime", 32, "lime", 4, ours=1.0, theirs=4.0, floor=0.9, aim=3.0)
    assert (good.speedup, good.missed) == (4.0, False)
    assert Row("lime", 32, "lime", 4, ours=1.0, theirs=2.9, floor=0.9, aim=3.0).missed
    assert Row("lime", 32, "lime", 4, ours=1.0, floor=0.99 / HIGHEST_OVER_FLOOR).missed
    nothing = Row("lime", 32, "lime", 4, aim=3.0, reason="it does not install")
    assert (nothing.speedup, nothing.over_floor, nothing.missed) == (None, None, False)
    assert "it does not install" in nothing.cells()[-1]


def test_written_as_json_and_as_markdown(tmp_path: Path) -> None:
    made = table(Row("gradient", 32, "captum", 4, ours=0.01, theirs=0.02, floor=0.0099, facts={"errors": [None]}))
    write_table(tmp_path / "sub" / "t.json", made)
    row = json.loads((tmp_path / "sub" / "t.json").read_text())["rows"][0]
    assert row["speedup"] == 2.0
    assert row["missed"] is False
    write_table(tmp_path / "t.md", made)
    lines = (tmp_path / "t.md").read_text().splitlines()
    assert len(lines) == 3
    assert len({line.count("|") for line in lines}) == 1
    assert "| 0.0100 | 0.0200 | 0.0099 | 2.00 | 1.01 |" in lines[2]


def test_shown_in_eighty_columns_with_notes() -> None:
    console = Console(width=84, record=True, file=open("/dev/null", "w"))  # noqa: SIM115
    console.print(table(Row("integrated-gradients", 128, "captum", 4, 0.4, 0.5, 0.3, 2.0, "ours 17.3 gradients")))
    text = console.export_text()
    assert "integrated-gradients" in text
    assert "1.25!" in text
    assert "1.33!" in text
    assert "ours 17.3 gradients; aim 2x" in text
    assert "no wheel" in text
