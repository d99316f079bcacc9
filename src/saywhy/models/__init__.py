"""Models: the one wrapper, its tasks, networks of our own, the doors and the spaces of things that may be removed."""

from saywhy.models.black_box import BlackBox
from saywhy.models.encoding import Batch, Encoded, Row
from saywhy.models.loading import load
from saywhy.models.tasks import Task
from saywhy.models.text_model import TextModel

__all__ = ["Batch", "BlackBox", "Encoded", "Row", "Task", "TextModel", "load"]
