"""The fields of a PDF's form: what they are called and what people filled in."""

from typing import Any

import pypdfium2
import pypdfium2.raw as pdfium

from .strings import read_string

IS_PASSWORD = 1 << 13  # of a text field's flags
IS_HIDDEN = pdfium.FPDF_ANNOT_FLAG_HIDDEN | pdfium.FPDF_ANNOT_FLAG_NOVIEW


class FieldReader:
    """Reads the fields of a page one by one. They are marked once they all are known, because radio
    buttons of one name are one field."""

    def __init__(self, document: pypdfium2.PdfDocument) -> None:
        self._form = document.formenv
        self._marks: dict[str, None] = {}  # without repetitions
        self._radio_buttons: dict[str, str] = {}  # what is chosen, by their names
        self._empty: dict[str, None] = {}
        self.are_signed = False

    def read(self, annotation: Any) -> None:
        if self._form is None:
            return
        name = self._name(annotation)
        match pdfium.FPDFAnnot_GetFormFieldType(self._form, annotation):
            case pdfium.FPDF_FORMFIELD_CHECKBOX:
                is_ticked = pdfium.FPDFAnnot_IsChecked(self._form, annotation)
                self._marks[f"[Check box {name}: {'ticked' if is_ticked else 'not ticked'}]"] = None
            case pdfium.FPDF_FORMFIELD_RADIOBUTTON:
                self._read_radio_button(annotation, name)
            case pdfium.FPDF_FORMFIELD_TEXTFIELD:
                self._read_text(annotation, name)
            case pdfium.FPDF_FORMFIELD_COMBOBOX | pdfium.FPDF_FORMFIELD_LISTBOX:
                self._add(annotation, name, self._choice(annotation))
            case pdfium.FPDF_FORMFIELD_SIGNATURE:
                self._read_signature(annotation, name)

    def marks(self) -> list[str]:
        radio_buttons = [
            f"[Radio buttons {name}: {choice or 'none chosen'}]"
            for name, choice in self._radio_buttons.items()
        ]
        empty = [f"[Empty form fields: {', '.join(self._empty)}]"] if self._empty else []
        return [*self._marks, *radio_buttons, *empty]

    def _read_radio_button(self, annotation: Any, name: str) -> None:
        self._radio_buttons.setdefault(name, "")
        if pdfium.FPDFAnnot_IsChecked(self._form, annotation):
            choice = self._string(pdfium.FPDFAnnot_GetFormFieldExportValue, annotation)
            self._radio_buttons[name] = choice or "chosen"

    def _read_text(self, annotation: Any, name: str) -> None:
        value = self._string(pdfium.FPDFAnnot_GetFormFieldValue, annotation)
        if value and pdfium.FPDFAnnot_GetFormFieldFlags(self._form, annotation) & IS_PASSWORD:
            value = "a password, which is not read"
        self._add(annotation, name, value)

    def _read_signature(self, annotation: Any, name: str) -> None:
        is_signed = pdfium.FPDFAnnot_HasKey(annotation, b"V")
        self.are_signed |= bool(is_signed)
        self._add(annotation, name, "signed" if is_signed else "")

    def _add(self, annotation: Any, name: str, value: str) -> None:
        is_hidden = pdfium.FPDFAnnot_GetFlags(annotation) & IS_HIDDEN
        if value:
            self._marks[f"[Form field {name}: {value}{' (hidden)' * bool(is_hidden)}]"] = None
        else:
            self._empty[name] = None

    def _choice(self, annotation: Any) -> str:
        """Return the labels of what is chosen, or what people typed instead."""
        labels = [
            self._string(pdfium.FPDFAnnot_GetOptionLabel, annotation, index)
            for index in range(pdfium.FPDFAnnot_GetOptionCount(self._form, annotation))
            if pdfium.FPDFAnnot_IsOptionSelected(self._form, annotation, index)
        ]
        value = self._string(pdfium.FPDFAnnot_GetFormFieldValue, annotation)
        return ", ".join(filter(None, labels)) or value

    def _name(self, annotation: Any) -> str:
        """Return the name that people see, or that which programs use."""
        seen = self._string(pdfium.FPDFAnnot_GetFormFieldAlternateName, annotation)
        name = seen or self._string(pdfium.FPDFAnnot_GetFormFieldName, annotation)
        return " ".join(name.split()) or "without a name"

    def _string(self, function: Any, annotation: Any, *arguments: int) -> str:
        return read_string(function, self._form, annotation, *arguments).strip()
