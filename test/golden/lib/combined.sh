# SPDX-License-Identifier: MIT
# Small logs of a server, in the combined format.

combined() # ADDRESS SECOND [BYTES]: a line at 10:00 and so many seconds
{
    printf '%s - - [21/Nov/2025:10:%02d:%02d +0000] "GET / HTTP/1.1" 200 %s "-" "test"\n' "$1" $(($2 / 60)) \
        $(($2 % 60)) "${3-5}"
}

# 30 from one client in a second, 10 more a minute later; another sends one.
two_clients()
{
    for _ in {1..30}; do combined 192.0.2.1 0; done
    combined 192.0.2.2 30
    for _ in {1..10}; do combined 192.0.2.1 60; done
}
