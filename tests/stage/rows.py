"""One test over many rows of values: every row is tried, and all that fail are shown together, each with its values."""

import contextlib
import functools
import inspect

import pytest

OWN = {"tmp_path", "monkeypatch"}


def each(names, *rows):
    """Make a test one over these rows: `@each("text found", ("1 x", "'x'"), ("2", "a unit"))`.

    What a row does with `monkeypatch` is undone before the next one. Each has a `tmp_path` of its own, unless the test takes
    a fixture that may use it, too. All other fixtures are the same for all rows.
    """
    wanted = tuple(names.split())
    assert rows

    def over(test):
        @functools.wraps(test)
        def tried(**given):
            failures = [error for number, row in enumerate(rows) for error in failure(test, given, wanted, number, row)]
            if failures:
                raise BaseExceptionGroup(f"{len(failures)} of {len(rows)} rows", failures)

        signature = inspect.signature(test)
        others = [one for name, one in signature.parameters.items() if name not in wanted]
        tried.__signature__ = signature.replace(parameters=others)
        return tried

    return over


def failure(test, given, wanted, number, row):
    """Try one row: nothing, or why it fails."""
    values = dict(zip(wanted, row if len(wanted) > 1 else (row,), strict=True))
    try:
        with contextlib.ExitStack() as kept:
            test(**values, **own(given, number, kept))
    except (Exception, pytest.fail.Exception) as error:
        error.add_note(f"row {number}: " + ", ".join(f"{name} = {value!r}" for name, value in values.items()))
        yield error


def own(given, number, kept):
    """The fixtures of a row."""
    found = dict(given)
    if "tmp_path" in found and found.keys() <= OWN:
        found["tmp_path"] = found["tmp_path"] / f"row-{number}"
        found["tmp_path"].mkdir()
    if "monkeypatch" in found:
        found["monkeypatch"] = kept.enter_context(pytest.MonkeyPatch.context())
    return found
