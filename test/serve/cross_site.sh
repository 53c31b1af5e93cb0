#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# cross_site.sh WEIR: a page on the web that its reader's Chromium has open cannot spend permits of a weir that the
# browser reaches, whatever it loads, sends or submits: on the same machine, and over plain HTTP at another address,
# where browsers do not say that a request comes from elsewhere.  A proxy's request passes.
. "$(dirname "$0")/lib/start.sh" "$@"
needs curl
if ! browser=$("$tree/tools/find" browser); then skip_test 'chromium is not here'; fi
export PYTHONDONTWRITEBYTECODE=1

victim='auth?limit=100/h&key=victim'
try() # ADDRESS
{
    local url=http://$1:$http
    run "a page against $url" /usr/bin/python3 "$tree/test/serve/lib/cross_site.py" "$tree/test/page" "$browser" \
        "$room" "$url/$victim" "$url/metrics"
    ends 0
    fetch 400 "$url/$victim"
    says out 'X-Weir-Proxy'
    fetch 200 "$url/$victim" -H 'X-Weir-Proxy: nginx'
    if [ "$(header RateLimit)" != '"default";r=99;t=36' ]; then fail "somebody else was here: $(header RateLimit)"; fi
}

start_serve
try 127.0.0.1
clean_end

address=$(hostname -I 2>/dev/null | tr ' ' '\n' | grep -m1 '^[0-9.]*$')
if [ -z "$address" ]; then
    skip_part 'a page against another machine' 'this one has no address but loopback' 'a network'
    exit 0
fi
printf 'texts: on\nlisten: {public: without-password}\n' >weir.yaml
start_other weir.yaml --resp none --http "$address:0"
http=$(sed -n 's|^weir: .*http://[0-9.]*:\([0-9]*\)/.*|\1|p' serve.out)
try "$address"
clean_end
