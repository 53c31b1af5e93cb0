# SPDX-License-Identifier: MIT
# cmake -DWITH=ON -DWEB=... -DUPLOT=... -DOUT=... -P: page.html with all that it names, cut where the data goes, as C.
# With OFF, the same functions without a page.

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

function(c_array out name text)
    file(WRITE "${OUT}.part" "${text}")
    file(SIZE "${OUT}.part" size)
    file(READ "${OUT}.part" hex HEX)
    file(REMOVE "${OUT}.part")
    string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${hex}")
    string(REGEX REPLACE "(0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,)" "\\1\n"
        bytes "${bytes}")
    set(${out} "static const unsigned char ${name}[${size}] = {\n${bytes}\n};\n" PARENT_SCOPE)
endfunction()

set(start "/* Made by cmake/embed_page.cmake. */\n#include \"cli/page.h\"\n\n")
if(NOT WITH)
    file(WRITE "${OUT}" "${start}struct page_template page_template(void)\n{\n"
        "    return (struct page_template){NULL, 0, NULL, 0};\n}\n")
    return()
endif()

file(READ "${WEB}/page.html" page)
file(READ "${UPLOT}/LICENSE" license)
file(READ "${UPLOT}/dist/uPlot.min.css" uplot_style)
file(READ "${UPLOT}/dist/uPlot.iife.min.js" uplot_script)
file(READ "${WEB}/page.css" style)
set(script "")
foreach(part IN ITEMS form plot page) # in the order in which they use each other
    file(READ "${WEB}/${part}.js" text)
    string(APPEND script "${text}")
endforeach()
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
        message(FATAL_ERROR "page.html has no place for ${part}")
    endif()
    string(REPLACE "@${part}@" "${${part}}" page "${page}")
endforeach()

string(FIND "${page}" "@data@" cut)
string(SUBSTRING "${page}" 0 ${cut} head)
math(EXPR cut "${cut} + 6")
string(SUBSTRING "${page}" ${cut} -1 tail)
c_array(head_array page_head "${head}")
c_array(tail_array page_tail "${tail}")
file(WRITE "${OUT}" "${start}${head_array}\n${tail_array}\nstruct page_template page_template(void)\n{\n"
    "    return (struct page_template){page_head, sizeof page_head, page_tail, sizeof page_tail};\n}\n")
