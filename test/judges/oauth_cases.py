# Reads the facts for a judge's program in Python, and prints a line for each case (see oauth-clients.mjs).
import json
import sys
import traceback

with open(sys.argv[1], encoding="utf-8") as file:
    facts = json.load(file)

ISSUER = facts["issuer"]
RESOURCE = facts["resource"]


def case(name):
    """Runs the decorated function: an exception is the reason why its case failed."""

    def run(body):
        try:
            body()
            print(f"ok {name}")
        except BaseException as error:
            where = traceback.extract_tb(error.__traceback__)[-1]
            text = " ".join(f"{type(error).__name__}: {error} (line {where.lineno}: {where.line})".split())
            print(f"not ok {name} - {text}")
        return body

    return run


def failure_of(kind, call):
    """Returns the exception of a kind that a call must raise."""
    try:
        call()
    except kind as error:
        return error
    raise AssertionError(f"no {kind.__name__}")
