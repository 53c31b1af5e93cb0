# SPDX-License-Identifier: MIT
# A text as an array of C: longer than C11 promises (4095 bytes), which no compiler minds.  "?" is escaped, for ??( is a
# trigraph.
function(c_string out name text)
    string(REPLACE "\\" "\\\\" text "${text}")
    string(REPLACE "\"" "\\\"" text "${text}")
    string(REPLACE "?" "\\?" text "${text}")
    string(REPLACE "\n" "\\n\"\n\"" text "${text}")
    string(PREPEND text "#pragma GCC diagnostic ignored \"-Woverlength-strings\"\nstatic const char ${name}[] =\n\"")
    set(${out} "${text}\";\n\n" PARENT_SCOPE)
endfunction()
