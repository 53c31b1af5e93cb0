# SPDX-License-Identifier: MIT
# cmake -DSCRIPT=FILE -DOUT=FILE -P: weir.lua as C, and what EVALSHA calls it.  As a script it goes without its first
# line, "#!lua name=weir", which only FUNCTION LOAD understands.
include("${CMAKE_CURRENT_LIST_DIR}/c_string.cmake")
file(READ "${SCRIPT}" text)
string(FIND "${text}" "\n" first)
math(EXPR first "${first} + 1")
string(SUBSTRING "${text}" ${first} -1 script)
string(SHA1 sha1 "${script}")
c_string(array text "${text}")
file(WRITE "${OUT}" "/* Made by cmake/embed_script.cmake. */
#include \"redis/client/script.h\"

${array}const char *script_functions(size_t *size)
{
    *size = sizeof text - 1;
    return text;
}

const char *script_text(size_t *size)
{
    *size = sizeof text - 1 - ${first};
    return text + ${first};
}

const char *script_sha1(void)
{
    return \"${sha1}\";
}
")
