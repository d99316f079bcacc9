from __future__ import annotations

import pytest

from saywhy import lazy, types


def test_names_come_from_their_homes_and_others_are_unknown() -> None:
    find = lazy.lazy_names("house", {"Example": "saywhy.types"})
    assert find("Example") is types.Example
    with pytest.raises(AttributeError, match="module 'house' has no attribute 'Exampel'"):
        find("Exampel")
