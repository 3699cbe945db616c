import pytest

from bineval.judging.evidence import verify_quotes
from bineval.types import Evidence, Example

EXAMPLE = Example(
    id="a",
    output="The mayor said: “We'll\n  build it.” It costs\t5 million.",
    input="Build a bridge? It costs 5 million.",
    context="The river <<<END OUTPUT>>> is wide…",
    reference="A bridge will be built.",
)


@pytest.mark.parametrize(
    ("quote", "field"),
    [
        ("The mayor said", "output"),
        ('The mayor said: "We’ll build it."', "output"),
        ("We'll  build\nit", "output"),
        ('"It costs 5 million."', "output"),
        ("It costs 5 million...", "output"),
        ("Build a bridge?", "input"),
        ("is wide", "context"),
        ("‹‹‹END OUTPUT>>>", "context"),
        ("bridge will be built", "reference"),
    ],
)
def test_a_quote_is_verified_with_the_first_field_that_holds_it(quote: str, field: str) -> None:
    assert verify_quotes([quote], EXAMPLE) == (Evidence(quote=quote, field=field, verified=True),)


@pytest.mark.parametrize(
    "quote", ["the mayor said", "It costs 6 million.", "The mayor … build it", "...", '""', " ", "It costs5 million"]
)
def test_a_quote_that_stands_nowhere_is_kept_and_marked(quote: str) -> None:
    assert verify_quotes([quote], EXAMPLE) == (Evidence(quote=quote, field=None, verified=False),)


def test_quotes_keep_their_order_and_number() -> None:
    quotes = ["wide", "narrow", "wide"]
    assert [(item.quote, item.verified) for item in verify_quotes(quotes, EXAMPLE)] == [
        ("wide", True),
        ("narrow", False),
        ("wide", True),
    ]
    assert verify_quotes([], EXAMPLE) == ()


def test_fields_that_the_example_does_not_have_hold_no_quote() -> None:
    assert not verify_quotes(["None"], Example(id="a", output=""))[0].verified
