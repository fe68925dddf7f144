"""Today's prices become a rate and a cost each; the lists get their names.

The cost of a price with a profile or a tier was never used: costs are of whole GPUs.
"""

from django.db import migrations

SPLIT = """
INSERT INTO accounting_pricelist (kind, name, currency, source)
SELECT DISTINCT k.kind, k.title || ' in ' || p.currency, p.currency, ''
FROM accounting_unitprice p
CROSS JOIN (VALUES ('rate', 'Rates'), ('cost', 'Costs')) k(kind, title)
WHERE k.kind = 'rate'
   OR (p.cost_per_gpu_hour IS NOT NULL AND p.profile = '' AND p.tier = '');

INSERT INTO accounting_unitprice
    (kind, price_list_id, model, profile, lifecycle, cluster_id, tier, currency,
     rate_per_gpu_hour, valid_from, valid_to, source_note)
SELECT 'cost', l.id, p.model, '', p.lifecycle, p.cluster_id, '', p.currency,
       p.cost_per_gpu_hour, p.valid_from, p.valid_to, p.source_note
FROM accounting_unitprice p
JOIN accounting_pricelist l ON l.kind = 'cost' AND l.currency = p.currency
WHERE p.cost_per_gpu_hour IS NOT NULL AND p.profile = '' AND p.tier = '';

UPDATE accounting_unitprice p SET price_list_id = l.id
FROM accounting_pricelist l
WHERE l.kind = p.kind AND l.currency = p.currency AND p.price_list_id IS NULL;
"""


class Migration(migrations.Migration):
    dependencies = [("accounting", "0012_price_lists")]

    operations = [migrations.RunSQL(SPLIT, migrations.RunSQL.noop)]
