"""GPUs, their holders and their steps of time as lists, as `manage.py report` prints them."""

from functools import partial

from rest_framework.request import Request
from rest_framework.response import Response

from accounting.access.rights import ONE_GPU, WHOLE_FLEET
from accounting.fleet.reads.fleet import GPU_FILTERS, PricedGpu, priced_gpus
from accounting.fleet.reads.steps import STEPS, GpuStep, gpu_steps
from accounting.fleet.reads.timeline import HOLDER_FILTERS, held_stretches, stretch_key
from accounting.fleet.serializers import GpuHolderSerializer
from accounting.kit.api.rows import RowsView
from accounting.kit.api.schema import PERIOD, lists
from accounting.kit.reads.selection import check_word
from accounting.kit.serializers.declared import serializer_of


class GpusView(RowsView):
    """GPUs: location, current holder, use and charges."""

    subject = "gpus"
    right = WHOLE_FLEET
    parameters = (*PERIOD, *GPU_FILTERS)

    @lists(serializer_of(PricedGpu), parameters)
    def get(self, request: Request) -> Response:
        """List GPUs that were present in the period, by default in the time for which
        five-minute data is kept. For finance and administrators."""
        selection = self.selection(request)
        return self.listed(request, priced_gpus(selection), serializer_of(PricedGpu))


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
