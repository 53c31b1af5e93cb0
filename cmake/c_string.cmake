# SPDX-License-Identifier: MIT
# A text as an array of C: longer than C11 promises (4095 bytes), which no compiler minds.  "?" is escaped, for ??( is a
# trigraph.
function(c_string out name text)
    string(REPLACE "\\" "\\\\" text "${text}")
    string(REPLACE "\"" "\\\"" text "${text}")
    string(REPLACE "?" "\\?" text "${text}")
    string(REPLACE "\n" "\\n\"\n\"" text "${text}")
    set(${out} "#pragma GCC diagnostic ignored \"-Woverlength-strings\"\nstatic const char ${name}[] =\n\"${text}\";\n\n"
        PARENT_SCOPE)
endfunction()
