"""How much of a thing a test does: little in every run, much in `make long`."""

import pytest
from hypothesis import settings

EXAMPLES = 100
"""What a property sees of examples by itself; `--hypothesis-profile=many` gives a hundred times as many."""


def few_and_many(name, few, many):
    """A test's parameter: the number that every run takes, and the one of `make long`."""
    return pytest.mark.parametrize(name, [few, pytest.param(many, marks=pytest.mark.long)])


def scaled(number):
    """So many examples, and as many times more as the profile says."""
    return number * settings.default.max_examples // EXAMPLES


def examples(number):
    """So many examples of a property that is dear."""
    return settings(max_examples=scaled(number))


def first_and_all(values, few=1):
    """Cases of one test: the first ones in every run, the others in `make long`."""
    cases = (value if type(value) is tuple else (value,) for value in values)  # an example with names is one value
    return [pytest.param(*case, marks=[pytest.mark.long] * (at >= few)) for at, case in enumerate(cases)]


def chance(share, sets, errors=3):
    """By how much a share of so many random sets may be off: three standard errors."""
    return errors * (share * (1 - share) / sets) ** 0.5
