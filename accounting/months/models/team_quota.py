"""How many GPUs a team may hold in a cluster: weights of methods with `+quota` (money.md M23)."""

from django.db import models


class TeamQuota(models.Model):
    """A team's quota in a cluster from an instant on, in thousandths of a GPU; 0: none.

    Written by `months.actions.team_quotas` from the desired quotas, which have their own history.
    """

    cluster = models.ForeignKey("accounting.Cluster", on_delete=models.CASCADE)
    team = models.ForeignKey("accounting.Team", on_delete=models.PROTECT)
    milli_gpus = models.PositiveBigIntegerField()
    valid_from = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["cluster", "team", "valid_from"], name="team_quota_unique"
            )
        ]

    def __str__(self) -> str:
        return (
            f"{self.team} in {self.cluster}: {self.milli_gpus} from {self.valid_from}"
        )
