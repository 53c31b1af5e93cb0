# SPDX-License-Identifier: MIT
# What distributions compile with.  Not with sanitizers, which replace the same functions; each flag only where known.
option(WEIR_HARDEN "Compile with FORTIFY, stack protection, PIE and full RELRO" ON)
if(NOT WEIR_HARDEN OR WEIR_SANITIZE OR WEIR_FUZZ)
    return()
endif()
include(CheckCCompilerFlag)
include(CheckLinkerFlag)
include(CheckPIESupported)
check_pie_supported(LANGUAGES C)
set(CMAKE_POSITION_INDEPENDENT_CODE ON) # programs are PIE
foreach(flag IN ITEMS -fstack-protector-strong -fstack-clash-protection -fcf-protection)
    string(MAKE_C_IDENTIFIER "weir_knows${flag}" known)
    check_c_compiler_flag(${flag} ${known})
    if(${known})
        add_compile_options(${flag})
    endif()
endforeach()
# Level 3 is level 2 where the C library or the compiler does not know it; without -O it only warns.
add_compile_options("$<$<NOT:$<CONFIG:Debug>>:-U_FORTIFY_SOURCE;-D_FORTIFY_SOURCE=3>")
check_linker_flag(C "LINKER:-z,relro,-z,now" weir_knows_relro)
if(weir_knows_relro)
    add_link_options("LINKER:-z,relro,-z,now")
endif()
