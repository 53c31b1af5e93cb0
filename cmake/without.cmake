# SPDX-License-Identifier: MIT
# What this build lacks, since something was not here: said at the end, each with what works all the same and the one
# command that gets it.  tools/build says it again, behind all that the compiler had to say.
function(weir_without what works cure)
    set_property(GLOBAL APPEND PROPERTY weir_without
        "weir: built without ${what} (${works}).  To have it: ${cure} && make")
endfunction()

function(weir_say_without)
    get_property(lines GLOBAL PROPERTY weir_without)
    list(JOIN lines "\n" text)
    file(WRITE "${PROJECT_BINARY_DIR}/without.txt" "${text}")
    foreach(line IN LISTS lines)
        message(STATUS "${line}")
    endforeach()
endfunction()

# NAME.c where its library is here, else NAME_none.c, which has the same functions: the one that opens refuses.
function(weir_either list has)
    set(sources ${${list}})
    foreach(name IN LISTS ARGN)
        if(has)
            list(FILTER sources EXCLUDE REGEX "/${name}_none\\.c$")
        else()
            list(FILTER sources EXCLUDE REGEX "/${name}\\.c$")
        endif()
    endforeach()
    set(${list} ${sources} PARENT_SCOPE)
endfunction()
