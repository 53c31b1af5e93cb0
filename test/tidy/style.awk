# SPDX-License-Identifier: MIT
# The rules of style.sh, one a line.  Bytes: the locale is C.
function offence(line, what)
{
    printf "%s:%d: %s\n", file, line, what
    wrong = 1
}

function end_of_file()
{
    if (file == "") return
    if (!licensed) offence(1, "no SPDX-License-Identifier in the first three lines")
    if (file ~ /^(src|include)\// && file !~ /\.lua$/ && lines > 600) # FUNCTION LOAD takes one file
        offence(lines, "a file of more than 600 lines")
}

FNR == 1 {
    end_of_file()
    file = FILENAME
    licensed = 0
    body = 0
    is_c = file ~ /\.[ch]$/
}

{ lines = FNR }
FNR <= 3 && /SPDX-License-Identifier: MIT/ { licensed = 1 }

/(^|[^A-Za-z_])(T[O]DO|F[I]XME|X[X]X)([^A-Za-z_]|$)/ { offence(FNR, "left to do") }

{
    line = $0
    gsub(/[\200-\277]/, "", line) # what is left of a UTF-8 character is its first byte
    if (length(line) > 120) offence(FNR, "a line of more than 120 characters")
}

is_c && /\t/ { offence(FNR, "a tab") }
is_c && /^[ ]*extern[ ]/ && !/extern "C"/ && !/[(]/ { offence(FNR, "an extern variable") }

# The body of a function, and nothing else, begins with a brace in the first column.
is_c && /^[{]/ { body = FNR }
is_c && /^[}]/ {
    if (body && FNR - body - 1 > 60) offence(body, "a function of more than 60 lines")
    body = 0
}

END {
    end_of_file()
    exit wrong
}
