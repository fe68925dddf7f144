"""Forms of bills: the file, and why a bill is final."""

from typing import Any

from django import forms

from accounting.kit.forms import AccessibleForm
from accounting.kit.parsers import MOST_FILE_BYTES
from accounting.months.pages.period_forms import PeriodReasonForm


class BillFileForm(AccessibleForm):
    """A FOCUS file."""

    file = forms.FileField(
        label="FOCUS file",
        help_text="CSV, CSV compressed by gzip, or Parquet, of version 1.0 or newer. At most "
        "64 MB, 512 MB after decompression. For larger files, use manage.py import_bill.",
    )
    is_final = forms.BooleanField(
        label="The provider has closed this billing period",
        required=False,
        help_text="Without it the bill is reconciled, but may still change.",
    )

    def clean_file(self) -> Any:
        """A file that a request can process."""
        file = self.cleaned_data["file"]
        if file.size > MOST_FILE_BYTES:
            raise forms.ValidationError(
                "The file is larger than 64 MB. Compress it, or use manage.py import_bill."
            )
        return file


class FinalForm(PeriodReasonForm):
    """Why a bill is final."""
