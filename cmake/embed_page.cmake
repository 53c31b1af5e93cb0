# SPDX-License-Identifier: MIT
# cmake -DWITH=ON -DPAGE=FILE -DSTYLES=FILE,... -DSCRIPTS=FILE,... -DUPLOT=FOLDER -DHEADER=... -DFUNCTION=...
# -DOUT=FILE -P: a page with all that it names, as C.  The function that the header declares gives it, cut where the
# data goes (all is head where none goes in).  With OFF, the same function without a page.

include("${CMAKE_CURRENT_LIST_DIR}/c_string.cmake")

# What Content-Security-Policy calls a text that stands in the page: its SHA-256 in base64.
function(policy_hash out text)
    set(alphabet ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/)
    string(SHA256 hex "${text}")
    set(base64 "")
    foreach(at RANGE 0 60 6) # 32 bytes: ten groups of three, and two bytes more
        string(SUBSTRING "${hex}00" ${at} 6 group)
        foreach(shift IN ITEMS 18 12 6 0)
            math(EXPR place "(0x${group} >> ${shift}) & 63")
            string(SUBSTRING ${alphabet} ${place} 1 letter)
            string(APPEND base64 ${letter})
        endforeach()
    endforeach()
    string(REGEX REPLACE ".$" "=" base64 "${base64}")
    set(${out} "'sha256-${base64}'" PARENT_SCOPE)
endfunction()

# The texts of files, one behind the other, in the order in which they use each other.
function(read_all out files)
    string(REPLACE "," ";" files "${files}")
    set(all "")
    foreach(file IN LISTS files)
        file(READ "${file}" text)
        string(APPEND all "${text}")
    endforeach()
    set(${out} "${all}" PARENT_SCOPE)
endfunction()

set(start "/* Made by cmake/embed_page.cmake. */\n#include \"${HEADER}\"\n\n")
set(function "struct page_template ${FUNCTION}(void)\n{\n    return (struct page_template){")
if(NOT WITH)
    file(WRITE "${OUT}" "${start}${function}NULL, 0, NULL, 0, NULL};\n}\n")
    return()
endif()

file(READ "${PAGE}" page)
file(READ "${UPLOT}/LICENSE" license)
file(READ "${UPLOT}/dist/uPlot.min.css" uplot_style)
file(READ "${UPLOT}/dist/uPlot.iife.min.js" uplot_script)
read_all(style "${STYLES}")
read_all(script "${SCRIPTS}")
set(places license)
foreach(part IN ITEMS uplot_style style uplot_script script)
    if("${${part}}" MATCHES "</(script|style)|<!--")
        message(FATAL_ERROR "the page's ${part} would end its own element")
    endif()
    policy_hash(${part}_hash "${${part}}")
    list(APPEND places ${part}_hash ${part}) # the hash of a text is in none of the texts that come before it
endforeach()
foreach(part IN LISTS places)
    string(FIND "${page}" "@${part}@" found)
    if(found EQUAL -1)
        message(FATAL_ERROR "${PAGE} has no place for ${part}")
    endif()
    string(REPLACE "@${part}@" "${${part}}" page "${page}")
endforeach()

string(REGEX MATCH "http-equiv=\"Content-Security-Policy\" content=\"([^\"]*)\"" found "${page}")
set(policy "${CMAKE_MATCH_1}; frame-ancestors 'none'") # which a page cannot say of itself
string(FIND "${page}" "@data@" cut)
string(SUBSTRING "${page}" 0 ${cut} head)
c_string(arrays page_head "${head}")
set(tail "NULL, 0")
if(NOT cut EQUAL -1)
    math(EXPR cut "${cut} + 6")
    string(SUBSTRING "${page}" ${cut} -1 tail)
    c_string(tail_array page_tail "${tail}")
    string(APPEND arrays "${tail_array}")
    set(tail "page_tail, sizeof page_tail - 1")
endif()
file(WRITE "${OUT}"
    "${start}${arrays}${function}page_head, sizeof page_head - 1, ${tail},\n        \"${policy}\"};\n}\n")
