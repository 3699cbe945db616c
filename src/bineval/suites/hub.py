"""The examples of a suite from its data set on the Hugging Face hub."""

from bineval.errors import ConfigError
from bineval.suites.base import Suite
from bineval.types import Example


def hub_examples(suite: Suite) -> list[Example]:
    """Downloads and reads the data set."""
    raise ConfigError(f"{suite.title} is not on the hub in a form that bineval reads: give --data FILE")
