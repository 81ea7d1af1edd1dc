"""The form of the review policy."""

from django import forms

from chatapp.models import ReviewPolicy


class PolicyForm(forms.ModelForm):  # type: ignore[type-arg]
    scope = forms.ChoiceField(choices=ReviewPolicy.Scope.choices, widget=forms.RadioSelect)
    hides_names = forms.TypedChoiceField(
        choices=[
            ("", "Reviewers see names"),
            ("yes", "Reviewers see pseudonyms until one is revealed"),
        ],
        coerce=bool,
        empty_value=False,  # type: ignore[arg-type]
        required=False,
        widget=forms.RadioSelect,
    )

    class Meta:
        model = ReviewPolicy
        fields = ["scope", "names_reader", "hides_names"]
