#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# alerts.sh WEIR: what an operator is given to watch a service: each metric that the alerts, the dashboard and
# doc/operate.md name is one that a real service prints, and operate.md has all of them; the dashboard is one that
# Grafana can lay out; promtool, where it is, reads each expression.
. "$(dirname "$0")/lib/start.sh" "$@"
needs curl
needs jq
dashboard=$examples/grafana.json

# ---- a service that prints all there are: with an engine, even if there is none at that address ----
nobody=$(free_port)
cat >weir.yaml <<YAML
engine: {url: "redis://127.0.0.1:$nobody"}
limits: {api: 10/s}
YAML
start_serve weir.yaml
curl -sf -o metrics "http://127.0.0.1:$http/metrics"
clean_end
what='the metrics that it prints'
sed -n 's/^# TYPE \([a-z_]*\) .*/\1/p' metrics | sort >printed
grep -E '^[a-z_]+ ' metrics -o | tr -d ' ' >series
grep -oE '^[a-z_]+\{' metrics | tr -d '{' >>series
sort -u series -o series
if [ "$(wc -l <printed)" -lt 40 ]; then fail 'they are hardly any'; fi

named_in() # FILE: each metric in its standard input is one of those; they stay in `named`
{
    grep -oE '\b(weir|process)_[a-z_]+' | sort -u >named
    if [ ! -s named ]; then fail "$1 names no metric"; fi
    while read -r metric; do
        grep -qxF "$metric" series || grep -qxF "$metric" printed || fail "$1: no service prints $metric"
    done <named
}

what='metrics of the alerts'
named_in alerts.yaml <"$examples/alerts.yaml"
what='metrics of the dashboard'
jq -r '.panels[].targets[]?.expr, .templating.list[].query' "$dashboard" >expressions
named_in grafana.json <expressions
what='labels of the dashboard'
{ grep -oE '[{,][a-z]+="' metrics | tr -dc 'a-z\n' && printf '%s\n' instance; } | sort -u >labels
{
    grep -oE '[{,][a-z]+=' expressions | tr -d '{,='
    grep -oE ' by \([a-z, ]+' expressions | sed 's/.*(//' | tr -s ', ' '\n'
} | sort -u | comm -23 - labels >strange
if [ -s strange ]; then fail "no metric has the label $(head -n 1 strange)"; fi
what='metrics of operate.md'
sed -n '/^## Metrics/,/^## Alerts/p' "$tree/doc/operate.md" | grep '^|' | named_in operate.md
while read -r metric; do
    grep -qxF "$metric" named || fail "doc/operate.md does not say what $metric means"
done <printed
what='the runbook'
sed -n 's/^ *- alert: //p' "$examples/alerts.yaml" >alerts
while read -r alert; do
    sed -n '/^## Runbook/,/^## /p' "$tree/doc/operate.md" | grep -q "^| \`$alert\`" ||
        fail "doc/operate.md has no row for $alert"
done <alerts

# ---- what Grafana needs of a dashboard ----
what='the dashboard'
dashboard_has() # WHAT JQ
{
    run "$1" jq -e "$2" "$dashboard"
    ends 0
}
dashboard_has 'a name and a version' '.uid and .title and (.schemaVersion | numbers) and (.panels | length > 10)'
dashboard_has 'each panel has a number of its own' '[.panels[].id] | length == (unique | length)'
dashboard_has 'panels lie within 24 columns, none on another' '
    [.panels[].gridPos] as $at | all($at[]; .x >= 0 and .y >= 0 and .w > 0 and .h > 0 and .x + .w <= 24) and
    ([range($at | length) as $i | range($i) as $j | [$at[$i], $at[$j]] | select(
        .[0].x < .[1].x + .[1].w and .[1].x < .[0].x + .[0].w and
        .[0].y < .[1].y + .[1].h and .[1].y < .[0].y + .[0].h)] == [])'
dashboard_has 'each panel shows something, by the variable of the data source' '
    all(.panels[] | select(.type != "row");
        .title and .fieldConfig.defaults.unit and (.targets | length > 0) and .datasource.uid == "${datasource}" and
        all(.targets[]; .expr and .datasource.uid == "${datasource}" and .refId) and
        ([.targets[].refId] | length == (unique | length)))'
dashboard_has 'each variable that is used is one' '
    ([.templating.list[].name] + ["__rate_interval", "__all"]) as $known |
    [.. | strings | scan("\\$\\{?([a-z_]+)")[0]] | all(.[]; IN($known[]))'

# ---- promtool ----
if has_tool promtool; then
    run 'promtool, alerts' promtool check config "$examples/prometheus.yaml"
    ends 0
    {
        echo 'groups: [{name: dashboard, rules: ['
        jq -r '.panels[].targets[]?.expr | gsub("\\$__rate_interval"; "5m") | gsub("\\$[a-z]+"; ".*") |
               "  {record: shown, expr: \(tojson)},"' "$dashboard" | awk '{ sub(/shown/, "shown:" NR) } 1'
        echo ']}]'
    } >dashboard.yaml
    run 'promtool, dashboard' promtool check rules dashboard.yaml
    ends 0
else
    skip_part 'promtool' 'promtool is not here' 'apt-get install prometheus # starts one, too'
fi
