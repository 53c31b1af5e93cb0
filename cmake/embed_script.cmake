# SPDX-License-Identifier: MIT
# cmake -DSCRIPT=FILE -DOUT=FILE -P: weir.lua as C, and what EVALSHA calls it.  As a script it goes without its first
# line, "#!lua name=weir", which only FUNCTION LOAD understands.
file(READ "${SCRIPT}" text)
string(FIND "${text}" "\n" first)
math(EXPR first "${first} + 1")
string(SUBSTRING "${text}" ${first} -1 script)
string(SHA1 sha1 "${script}")
file(READ "${SCRIPT}" hex HEX)
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${hex}")
string(REGEX REPLACE "(0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,)" "\\1\n"
    bytes "${bytes}")
file(WRITE "${OUT}" "/* Made by cmake/embed_script.cmake. */
#include \"redis/client/script.h\"

static const unsigned char text[] = {
${bytes}0x00};

const char *script_functions(size_t *size)
{
    *size = sizeof text - 1;
    return (const char *)text;
}

const char *script_text(size_t *size)
{
    *size = sizeof text - 1 - ${first};
    return (const char *)text + ${first};
}

const char *script_sha1(void)
{
    return \"${sha1}\";
}
")
