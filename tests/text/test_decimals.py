"""Decimal numbers with a point, a comma, or separators of thousands."""

from contextlib import suppress
from decimal import Decimal

import pytest
from django.core.exceptions import ValidationError
from hypothesis import given
from hypothesis import strategies as st

from chatapp.text.decimals import DecimalField


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("0.15", "0.15"),
        ("0,15", "0.15"),
        (" 0,150 ", "0.15"),
        (",5", "0.5"),
        ("2,5", "2.5"),
        ("-2,5", "-2.5"),
        ("1250", "1250"),
        ("1,250.5", "1250.5"),
        ("1,234,567", "1234567"),
        ("1,234,567.8", "1234567.8"),
    ],
)
def test_numbers_are_read_as_they_are_meant(typed: str, meant: str) -> None:
    assert DecimalField().clean(typed) == Decimal(meant)


@pytest.mark.parametrize(
    ("typed", "problem"),
    [
        ("1,250", "“1,250” can be read in two ways. Write 1250 or 1.250."),
        ("1.234,5", "Enter a number."),
        ("1,2,3", "Enter a number."),
        ("much", "Enter a number."),
        ("9" * 5000 + ",5", "Ensure that there are no more than 9 digits in total."),
    ],
)
def test_what_is_no_clear_number_is_refused(typed: str, problem: str) -> None:
    with pytest.raises(ValidationError) as refused:
        DecimalField(max_digits=9).clean(typed)
    assert refused.value.messages == [problem]


@given(st.text(alphabet="0123456789.,-+ eE٣\n"))
def test_any_text_is_read_or_refused(text: str) -> None:
    with suppress(ValidationError):
        assert isinstance(DecimalField(required=False).clean(text), Decimal | None)
