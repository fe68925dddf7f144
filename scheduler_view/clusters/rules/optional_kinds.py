"""Kinds of objects that only some clusters have: queues of schedulers, and Karpenter's."""

from scheduler_view.clusters.rules.schedulers.kueue import CLUSTER_QUEUE
from scheduler_view.clusters.rules.schedulers.volcano import QUEUE

VOLCANO_QUEUE = QUEUE
LOCAL_QUEUE, COHORT, KAI_QUEUE = "LocalQueue", "Cohort", "KaiQueue"
QUEUE_KINDS = (LOCAL_QUEUE, CLUSTER_QUEUE, COHORT, VOLCANO_QUEUE, KAI_QUEUE)
NODE_POOL, NODE_CLAIM = "NodePool", "NodeClaim"
KARPENTER_KINDS = (NODE_POOL, NODE_CLAIM)
