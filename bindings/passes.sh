# SPDX-License-Identifier: MIT
# passes DOOR WHO COMMAND...: of a limit of 100, how many calls 8 server processes let through until each refuses.
# COMMAND starts a server that prints "listening on ADDRESS:PORT"; each has a client of its own.  Prints
# passed<TAB>DOOR<TAB>WHO<TAB>100<TAB>PASSED.  The passes of Rust and of Go read this file.
folder=$(mktemp -d)
servers=()
trap 'kill "${servers[@]}" 2>/dev/null; rm -rf "$folder"' EXIT

passes() {
    local door=$1 who=$2 i calls=()
    shift 2
    for i in {1..8}; do
        "$@" >"$folder/$i.log" &
        servers+=($!)
    done
    for i in {1..8}; do
        for _ in {1..1200}; do grep -q listening "$folder/$i.log" && break; sleep 0.05; done
        grep -q listening "$folder/$i.log" || { echo "$who: server $i does not listen after 60 s" >&2; exit 1; }
        curl -s -o /dev/null -w '%{http_code}\n' "http://127.0.0.1:$(sed -n 's/.*://p' "$folder/$i.log")/?[1-110]" \
            >"$folder/$i.codes" &
        calls+=($!)
    done
    wait "${calls[@]}"
    for i in {1..8}; do
        [ "$(tail -n 1 "$folder/$i.codes")" = 429 ] || { echo "$who: server $i did not refuse" >&2; exit 1; }
    done
    printf 'passed\t%s\t%s\t100\t%s\n' "$door" "$who" "$(cat "$folder"/*.codes | grep -c 200)"
}
