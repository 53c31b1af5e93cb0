#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# explain_as.sh WEIR: what `weir explain --as SYSTEM` says, to the letter.
. "$(dirname "$0")/lib/check.sh" "$@"

says_as() # SYSTEM LIMIT; the expected text on stdin
{
    cat >expected
    run "explain $2 --as $1" "$weir" explain "$2" --as "$1"
    ends 0
    silent err
    same out expected
}

says_as nginx '10/s burst=21' <<'END'
limit_req_zone $binary_remote_addr zone=weir:10m rate=10r/s;
limit_req zone=weir burst=20 nodelay;        # nginx's burst does not count the first request
# nginx counts whole ms; weir does so too with '10/s burst=21 algorithm=leaky nodelay'
END

says_as nginx 10/min <<'END'
limit_req_zone $binary_remote_addr zone=weir:10m rate=10r/m;
limit_req zone=weir burst=9 nodelay;        # nginx's burst does not count the first request
# 10r/m is 0.166 a second to nginx, a little less: it truncates to thousandths
# nginx counts whole ms; weir does so too with '0.166/s burst=10 algorithm=leaky nodelay'
END

says_as nginx '30r/m burst=12 delay=8; 1000r/s' <<'END'
limit_req_zone $binary_remote_addr zone=weir:10m rate=30r/m;
limit_req_zone $binary_remote_addr zone=weir2:10m rate=1000r/s;
limit_req zone=weir burst=12 delay=8;        # nginx's burst does not count the first request
limit_req zone=weir2;
END

# What is nginx's own comes back as it was.
for text in '10r/s' '10r/m burst=5' '1r/m burst=3 nodelay' '59r/m burst=7 delay=2' '1000r/s burst=20'; do
    run "explain $text --as nginx" "$weir" explain "$text" --as nginx
    ends 0
    rate=${text%% *} options=
    case $text in *' '*) options=" ${text#* }" ;; esac
    says out "rate=$rate;"
    says out "limit_req zone=weir$options;"
    if [ "$(wc -l <out)" != 2 ]; then fail "more than nginx's two lines"; fi
done

says_as haproxy '10/s algorithm=sliding-window' <<'END'
stick-table type ipv6 size 100k expire 2s store http_req_rate(1s)
http-request deny deny_status 429 if { src_http_req_rate ge 10 }
http-request track-sc0 src        # after deny, so that a refused request is not counted
# haproxy's windows are whole ms, and begin with a client's first request
END

says_as envoy '1000/s burst=20k' <<'END'
- name: envoy.filters.http.local_ratelimit
  typed_config:
    "@type": type.googleapis.com/envoy.extensions.filters.http.local_ratelimit.v3.LocalRateLimit
    stat_prefix: weir
    token_bucket: { max_tokens: 20000, tokens_per_fill: 50, fill_interval: 0.05s }
    filter_enabled: { runtime_key: weir_enabled, default_value: { numerator: 100, denominator: HUNDRED } }
    filter_enforced: { runtime_key: weir_enforced, default_value: { numerator: 100, denominator: HUNDRED } }
# one bucket for all clients of an envoy process
# older versions of envoy add the tokens of a fill all at once, weir one after the other
END

says_as redis-cell '30/min burst=16' <<'END'
CL.THROTTLE key 15 30 60
# max_burst does not count the first; a quantity may follow
END

says_as redis-cell 3/s <<'END'
CL.THROTTLE key 2 3 1
# max_burst does not count the first; a quantity may follow
# redis-cell truncates the interval to 333333333 ns, a little faster than the limit
END

# ---- what cannot be said ----
refuses() # SYSTEM LIMIT REASON
{
    echo "weir: $1 has no equivalent of this limit: $3" >expected
    run "explain $2 --as $1" "$weir" explain "$2" --as "$1"
    ends 1
    silent out
    same err expected
}
refuses nginx 7/13s 'its rates are whole requests a second or a minute'
refuses nginx '10/s algorithm=sliding-window' \
    'its limit_req is a leaky bucket; write the limit with algorithm=leaky or gcra'
refuses nginx '100 tokens/s' 'it counts requests, and this limit counts another unit'
refuses haproxy 10/s 'it counts over a period, without a burst; write the limit with algorithm=sliding-window'
refuses envoy '10/s algorithm=sliding-window' \
    'it has a token bucket and fixed windows; write the limit with algorithm=gcra or fixed-window'
refuses envoy '10/s; 100/min' 'it has no lists of limits; give each limit of the list by itself'
refuses redis-cell 10r/s 'it is gcra; write the limit with algorithm=gcra'
refuses redis-cell none 'a limit that lets nothing through is no rate; deny there instead'

run "explain --as apache" "$weir" explain 10/s --as apache
ends 2
silent out
echo 'weir: --as "apache": expected nginx, haproxy, envoy or redis-cell' >expected
same err expected
