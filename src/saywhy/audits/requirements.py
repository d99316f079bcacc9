"""What is required of a model and its explanations, in one line each: ``lime:sufficiency>=0.6``."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from dataclasses import dataclass

from saywhy.errors import OptionError

__all__ = ["Requirement", "read_requirement"]

_SIGNS: dict[str, Callable[[float, float], bool]] = {
    ">=": operator.ge,
    "<=": operator.le,
    ">": operator.gt,
    "<": operator.lt,
}
_FORM = re.compile(r"\s*(?:([\w-]+)\s*:)?\s*([\w-]+)\s*(>=|<=|>|<)\s*(\S+)\s*")


@dataclass(frozen=True)
class Requirement:
    """A bound on a metric: a number, or another method to be compared with.

    ``method`` is None where it holds for every method that is checked, and for metrics of the model itself.
    """

    metric: str
    sign: str
    bound: float | str
    method: str | None = None

    def keeps(self, value: float) -> bool:
        """Whether a value keeps a bound that is a number."""
        assert isinstance(self.bound, float)
        return _SIGNS[self.sign](value, self.bound)

    def __str__(self) -> str:
        bound = self.bound if isinstance(self.bound, str) else f"{self.bound:g}"
        return f"{self.method + ':' if self.method else ''}{self.metric}{self.sign}{bound}"


def read_requirement(text: str) -> Requirement:
    """Read ``[METHOD:]METRIC SIGN BOUND``.

    The sign is >=, >, <= or <, and the bound a number. Or it is another method: then > demands that the paired
    bootstrap finds the method better than that one, whichever direction of the metric is the good one, and >= that it
    does not find it worse.

    Example:
        >>> read_requirement("lime : truth >= 0.8")
        Requirement(metric='truth', sign='>=', bound=0.8, method='lime')
        >>> print(read_requirement("sufficiency > random"))
        sufficiency>random
    """
    found = _FORM.fullmatch(text)
    if found is None:
        raise OptionError(
            f"cannot read the requirement {text!r}; write it as METRIC>=NUMBER, METRIC>METHOD or METHOD:METRIC<=NUMBER"
        )
    method, metric, sign, bound = found.groups()
    try:
        return Requirement(metric, sign, float(bound), method)
    except ValueError:
        if sign.startswith("<"):
            raise OptionError(f"{text!r}: a method is compared by > (better) or >= (not worse)") from None
        return Requirement(metric, sign, bound, method)
