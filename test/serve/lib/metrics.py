# SPDX-License-Identifier: MIT
"""metrics.py FILE: reads Prometheus' text with its own client library, and holds it against what metrics.sh asked.

Prints what is wrong, and fails."""
import sys

from prometheus_client.parser import text_string_to_metric_families

LABELS = {'limit', 'verdict', 'protocol', 'le', 'reason', 'version'}
problems = []


def check(what, good, more=''):
    if not good:
        problems.append(f'{what}: {more}')


with open(sys.argv[1], encoding='utf-8') as file:
    families = {family.name: family for family in text_string_to_metric_families(file.read())}
value = {}
for family in families.values():
    check(f'{family.name} has a type', family.type in ('counter', 'gauge', 'histogram'), family.type)
    check(f'{family.name} has a help', len(family.documentation) > 5, family.documentation)
    for sample in family.samples:
        check('a label is one of ours', set(sample.labels) <= LABELS, sample.labels)
        at = (sample.name, *sorted(sample.labels.items()))
        check('each is there once', at not in value, at)
        value[at] = sample.value


def decisions(limit, verdict):
    return value[('weir_decisions_total', ('limit', limit), ('verdict', verdict))]


for limit, allow, deny, never in (('(text)', 10, 2, 1), ('api', 3, 2, 0)):
    found = [decisions(limit, verdict) for verdict in ('allow', 'deny', 'never', 'shadow')]
    check(limit, found == [allow, deny, never, 0], found)
    check(f'{limit}: permits', value[('weir_permits_total', ('limit', limit))] == allow, value)
bounds = [(float(sample.labels['le']), sample.value)
          for sample in families['weir_request_duration_seconds'].samples if 'le' in sample.labels]
check('bounds rise', bounds == sorted(bounds) and bounds[-1][0] == float('inf'), bounds)
check('buckets add up', all(one[1] <= other[1] for one, other in zip(bounds, bounds[1:])), bounds)
check('all are timed', value[('weir_request_duration_seconds_count',)] == bounds[-1][1] == 18, bounds[-1])
check('it took some time', value[('weir_request_duration_seconds_sum',)] > 0)
for name, least in (('weir_connections', 1), ('weir_connections_opened_total', 19), ('weir_errors_total', 1),
                    ('weir_table_keys_max', 1000000), ('weir_table_bytes', 1 << 20), ('weir_received_bytes_total', 99),
                    ('weir_policy_reloads_total', 1), ('process_start_time_seconds', 1.6e9)):
    check(f'{name} is at least {least}', value.get((name,), -1) >= least, value.get((name,)))
check('requests over HTTP', value[('weir_requests_total', ('protocol', 'http'))] == 21, value)
check('the version', [dict(at[1:]) for at in value if at[0] == 'weir_build_info'] != [{}])
for problem in problems:
    print('FAILED:', problem)
sys.exit(bool(problems))
