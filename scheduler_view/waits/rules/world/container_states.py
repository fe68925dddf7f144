"""What the kubelet reports of the containers of a pod that are not simply running or done."""

from collections.abc import Iterator
from dataclasses import dataclass

from scheduler_view.waits.rules.world.lenient import (
    Manifest,
    instant_ms,
    items,
    part,
    text,
    whole,
)

INIT, SIDECAR, MAIN = "init", "sidecar", "main"
BACK_OFF = "CrashLoopBackOff"
FAILS_FROM = 3  # restarts after a failure; fewer may be by chance
LASTS_MS = (
    600_000  # the kubelet forgets earlier failures of a container that ran as long
)


@dataclass(frozen=True, slots=True)
class ContainerState:
    """One container.

    Attributes:
        kind: `init`, which runs before the main ones and ends; `sidecar`; or `main`.
        waiting: why it does not run; empty if that is not reported.
        message: of the same; it may have the name of the image.
        running_ms: since when it runs; None if it does not.
        exit_code: of its last attempt that failed; None if none is known.
        exit_reason, exit_message: of the same attempt, such as `OOMKilled`.
        ended_ms: of the same attempt.
        restarts: how often the kubelet started it again.
    """

    name: str
    kind: str
    image: str = ""
    waiting: str = ""
    message: str = ""
    running_ms: int | None = None
    exit_code: int | None = None
    exit_reason: str = ""
    exit_message: str = ""
    ended_ms: int | None = None
    restarts: int = 0

    def fails(self, now_ms: int) -> bool:
        """Whether it fails again and again, also if it happens to run at this instant."""
        if self.waiting == BACK_OFF:
            return True
        is_new = self.running_ms is None or now_ms - self.running_ms < LASTS_MS
        return self.exit_code is not None and self.restarts >= FAILS_FROM and is_new

    @property
    def failure(self) -> str:
        """How its last attempt failed, as `exit code 137 (OOMKilled): message`."""
        if self.exit_code is None:
            return self.message
        reason = f" ({self.exit_reason})" if self.exit_reason else ""
        said = f": {self.exit_message}" if self.exit_message else ""
        return f"exit code {self.exit_code}{reason}{said}"


def containers_of(spec: Manifest, status: Manifest) -> tuple[ContainerState, ...]:
    """Containers that wait for a reason, failed, or run before the main ones, in their order."""
    return tuple(_states(spec, status))


_LISTS = (
    ("initContainers", "initContainerStatuses", INIT),
    ("containers", "containerStatuses", MAIN),
)


def _states(spec: Manifest, status: Manifest) -> Iterator[ContainerState]:
    for specs, statuses, kind in _LISTS:
        declared = {text(one, "name"): one for one in items(spec, specs)}
        for one in items(status, statuses):
            own = declared.get(text(one, "name"), {})
            is_sidecar = kind == INIT and text(own, "restartPolicy") == "Always"
            state = _state(one, SIDECAR if is_sidecar else kind, text(own, "image"))
            if state.waiting or state.exit_code is not None or _runs_first(state):
                yield state


def _runs_first(state: ContainerState) -> bool:
    return state.kind == INIT and state.running_ms is not None


def _state(status: Manifest, kind: str, image: str) -> ContainerState:
    failed = _failed(status)
    return ContainerState(
        name=text(status, "name"),
        kind=kind,
        image=image,
        waiting=text(status, "state", "waiting", "reason"),
        message=text(status, "state", "waiting", "message"),
        running_ms=instant_ms(status, "state", "running", "startedAt"),
        exit_code=whole(failed, "exitCode"),
        exit_reason=text(failed, "reason"),
        exit_message=text(failed, "message"),
        ended_ms=instant_ms(failed, "finishedAt"),
        restarts=max(0, whole(status, "restartCount") or 0),
    )


def _failed(status: Manifest) -> Manifest:
    """The last attempt that ended, if it failed; a container that is done has not failed."""
    now = part(status, "state", "terminated")
    last = now or part(status, "lastState", "terminated")
    return last if whole(last, "exitCode") else {}
