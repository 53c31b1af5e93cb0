# SPDX-License-Identifier: MIT
# prototypes.awk HEADER or PAGE...: a line for each function, in the header or in the SYNOPSIS of a page, written alike.
function put(text)
{
    gsub(/[ \t]+/, " ", text)
    gsub(/\* /, "*", text)
    print text
}

/^static inline / {
    sub(/^static inline /, "")
    sub(/;.*/, "")
    put($0)
    next
}
/^WEIR_API / { declared = ""; inside = 1; sub(/^WEIR_API /, "") }
inside { declared = declared " " $0 }
inside && /;/ {
    sub(/;.*/, "", declared)
    sub(/^ +/, "", declared)
    put(declared)
    inside = 0
}

/^\.Ft / { type = substr($0, 5) }
/^\.Fo / { name = $2; arguments = "" }
/^\.Fa "/ {
    split($0, quoted, "\"")
    arguments = arguments (arguments == "" ? "" : ", ") quoted[2]
}
/^\.Fc/ { put(type " " name "(" arguments ")") }
