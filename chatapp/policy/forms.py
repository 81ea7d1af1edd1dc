"""What an administrator sets of reviews."""

from django import forms

from chatapp.models import ReviewPolicy


class PolicyForm(forms.ModelForm):  # type: ignore[type-arg]
    scope = forms.ChoiceField(choices=ReviewPolicy.Scope.choices, widget=forms.RadioSelect)

    class Meta:
        model = ReviewPolicy
        fields = ["scope", "names_reader"]
