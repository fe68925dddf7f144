"""Read-only lists: the reports of `manage.py report`, and clusters."""

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import chain

from django.http import HttpResponseBase
from rest_framework.request import Request
from rest_framework.response import Response

from accounting.access.rights import (
    AUDIT,
    ONE_GPU,
    WHOLE_FLEET,
)
from accounting.fleet.reads.fleet import (
    GPU_FILTERS,
    priced_gpus,
)
from accounting.fleet.reads.steps import (
    STEPS,
    GpuStep,
    gpu_steps,
)
from accounting.fleet.reads.timeline import (
    HOLDER_FILTERS,
    held_stretches,
    stretch_key,
)
from accounting.fleet.serializers import (
    GpuHolderSerializer,
    GpuRowSerializer,
)
from accounting.kit.api.rows import (
    CsvRenderer,
    Row,
    RowsView,
)
from accounting.kit.api.schema import (
    PERIOD,
    REPORT,
    lists,
)
from accounting.kit.reads.selection import (
    SelectionError,
    check_word,
)
from accounting.kit.serializers.declared import serializer_of
from accounting.organization.reads.audit_entries import (
    AUDIT_COLUMNS,
    AuditFilter,
    AuditRow,
    audit_key,
    audit_page,
    audit_rows,
    kinds,
)
from accounting.usage.reads.holds import (
    HOLD_FILTERS,
    hold_key,
    hold_rows,
)
from accounting.usage.reads.intensity import (
    ONLY,
    only_pointless,
    with_intensity,
)
from accounting.usage.reads.ledger import ledger_rows
from accounting.usage.reads.usage import usage_stream
from accounting.usage.serializers import (
    USAGE_MEASURES,
    HoldRowSerializer,
    LedgerRowSerializer,
    UsageRowSerializer,
)


class UsageView(RowsView):
    """Allocated GPU time and its charge, by any dimensions."""

    subject = "usage"
    parameters = ("by", "as", "only", "columns", *REPORT)

    @lists(UsageRowSerializer, parameters, values={"only": ONLY})
    def get(self, request: Request) -> HttpResponseBase:
        """List usage, as `report usage` does."""
        selection, by = self.selection(request), self.by(request, "team")
        measures = self._measures(request)
        rows = with_intensity(usage_stream(selection, by), selection, by)
        found = only_pointless(rows, request.query_params.get("only"))
        fields = UsageRowSerializer.each(found)
        if isinstance(request.accepted_renderer, CsvRenderer):
            return self._file(request, fields, measures)
        return self.answer(request, list(fields))

    def _measures(self, request: Request) -> Sequence[str] | None:
        """The requested columns of a CSV file, beside its dimensions; None for all."""
        text = request.query_params.get("columns")
        if text is None:
            return None
        if not isinstance(request.accepted_renderer, CsvRenderer):
            raise SelectionError("'columns' requires format=csv", parameter="columns")
        names = list(dict.fromkeys(text.split(",")))
        for name in names:
            check_word("columns", name, USAGE_MEASURES)
        return names

    def _file(
        self, request: Request, rows: Iterator[Row], measures: Sequence[str] | None
    ) -> HttpResponseBase:
        """A CSV file that is sent while its rows are written."""
        first = next(rows, None)
        if first is None:
            return self.answer(request, [])
        columns = list(first)
        if measures is not None:
            columns = [name for name in columns if name not in USAGE_MEASURES]
            columns.extend(measures)
        return self.streamed(request, chain([first], rows), columns)


class LedgerView(RowsView):
    """The seven states of every GPU and their charges."""

    subject = "ledger"
    right = WHOLE_FLEET
    parameters = ("by", "as", *REPORT)

    @lists(LedgerRowSerializer, parameters)
    def get(self, request: Request) -> Response:
        """List the ledger, as `report ledger` does. For finance and administrators."""
        rows = ledger_rows(self.selection(request), self.by(request, "cluster"))
        return self.listed(request, rows, LedgerRowSerializer)


class HoldsView(RowsView):
    """GPU allocations of pods."""

    subject = "holds"
    parameters = (*PERIOD, *HOLD_FILTERS)

    @lists(HoldRowSerializer, parameters)
    def get(self, request: Request) -> Response:
        """List GPU allocations, as `report holds` does."""
        read = partial(hold_rows, self.selection(request))
        return self.keyset_page(request, read, hold_key, HoldRowSerializer)


class GpusView(RowsView):
    """GPUs: location, current holder, use and charges."""

    subject = "gpus"
    right = WHOLE_FLEET
    parameters = (*PERIOD, *GPU_FILTERS)

    @lists(GpuRowSerializer, parameters)
    def get(self, request: Request) -> Response:
        """List GPUs that were present in the period, by default in the time for which
        five-minute data is kept. For finance and administrators."""
        selection = self.selection(request)
        return self.listed(request, priced_gpus(selection), GpuRowSerializer)


class GpuHoldersView(RowsView):
    """Holders of GPUs over time, in five-minute windows."""

    subject = "gpu-holders"
    parameters = (*PERIOD, *HOLDER_FILTERS)

    @lists(GpuHolderSerializer, parameters)
    def get(self, request: Request) -> Response:
        """List holders by GPU and time, as long as five-minute data is kept."""
        read = partial(held_stretches, self.selection(request))
        return self.keyset_page(request, read, stretch_key, GpuHolderSerializer)


class GpuStepsView(RowsView):
    """One GPU over time: its seven states and measurements."""

    subject = "gpu-steps"
    right = ONE_GPU
    parameters = (*PERIOD, "cluster", "gpu", "step")

    @lists(serializer_of(GpuStep), parameters, values={"step": tuple(STEPS)})
    def get(self, request: Request) -> Response:
        """List steps of one GPU, as long as five-minute data is kept. For finance and
        administrators."""
        step = request.query_params.get("step", "hour")
        check_word("step", step, tuple(STEPS))
        rows = gpu_steps(self.selection(request), STEPS[step])
        return self.listed(request, rows, serializer_of(GpuStep))


class AuditView(RowsView):
    """Audit log."""

    subject = "audit"
    right = AUDIT
    parameters = (*PERIOD, "what", "actor", "object")

    @lists(serializer_of(AuditRow), parameters)
    def get(self, request: Request) -> HttpResponseBase:
        """List changes, newest first. For finance and administrators. Cursors do not expire."""
        audit_filter = self._filter(request)
        if isinstance(request.accepted_renderer, CsvRenderer):
            rows = serializer_of(AuditRow).each(audit_rows(audit_filter))
            return self.streamed(request, rows, AUDIT_COLUMNS)
        read = partial(audit_page, audit_filter)
        return self.keyset_page(request, read, audit_key, serializer_of(AuditRow))

    def _filter(self, request: Request) -> AuditFilter:
        query = request.query_params
        period = self.selection(request).period
        what, about = query.get("what", ""), query.get("object", "")
        if what:
            check_word("what", what, kinds())
        if about and not (about.isascii() and about.isdigit() and len(about) < 18):
            raise SelectionError("object must be a number", parameter="object")
        return AuditFilter(
            what=what,
            actor=query.get("actor", ""),
            object_id=int(about) if about else None,
            start=period.start if period else None,
            end=period.end if period else None,
        )
