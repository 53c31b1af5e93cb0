# SPDX-License-Identifier: MIT
# How tests are built and run.  Which there are and what each one uses is in test/tests.cmake.
#
# Each test has two labels: its folder, and the smallest of `make check`, `make test` and `make prove` that runs it.
# `tests-LABEL` builds what the tests of a label need.
find_package(PkgConfig)
set(test_dir "${PROJECT_SOURCE_DIR}/test")
if(PKG_CONFIG_FOUND)
    pkg_check_modules(cmocka IMPORTED_TARGET cmocka)
    pkg_check_modules(json_c IMPORTED_TARGET json-c)
endif()
find_package(ZLIB)
find_package(Python3 COMPONENTS Interpreter)

foreach(label IN ITEMS unit property model simulate vectors stress golden example tidy install bench page serve
    engine clock compat bindings no_memory)
    add_custom_target(tests-${label})
endforeach()
add_custom_target(tests-check DEPENDS tests-unit tests-property tests-vectors tests-tidy)

# What a row may write behind USES: the target to link, and whether it is here.
set(uses_serve weir_serve)
set(uses_engine weir_engine)
set(uses_hiredis PkgConfig::hiredis)
set(uses_json PkgConfig::json_c)
set(uses_cmocka PkgConfig::cmocka)
set(uses_zlib ZLIB::ZLIB)
set(uses_unpack weir_unpack)
set(uses_harness bench_harness)
set(uses_openssl PkgConfig::openssl)

# Exit status 77 is a skip: the test has printed `skipped: WHAT: WHY; cure: COMMAND`.  What has run for half an hour
# hangs: how long a test takes says nothing on a machine that is slow or busy otherwise.
function(weir_test label name tier)
    add_test(NAME ${label}/${name} COMMAND ${ARGN} COMMAND_EXPAND_LISTS)
    set_tests_properties(${label}/${name} PROPERTIES LABELS "${label};${tier}" TIMEOUT 1800 SKIP_RETURN_CODE 77)
    if(tier STREQUAL prove)
        set_tests_properties(${label}/${name} PROPERTIES COST 10000) # long ones first: none is left alone
    endif()
endfunction()

# A test that cannot be built here is still counted, as skipped.
function(weir_skipped label name tier why)
    list(JOIN why ", " why) # may name several
    set(line "skipped: ${label}/${name}: built without ${why}\\073 cure: tools/deps test, tools/page, tools/build")
    weir_test(${label} ${name} ${tier} sh -c "printf '${line}\\n' && exit 77") # \\073: cmake splits at a ;
endfunction()

# Those of the libraries that are not here.
function(weir_lacking out)
    set(lacking "")
    foreach(use IN LISTS ARGN)
        if(NOT DEFINED uses_${use})
            message(FATAL_ERROR "test/tests.cmake: there is nothing called ${use} to use")
        endif()
        if(NOT TARGET ${uses_${use}})
            list(APPEND lacking ${use})
        endif()
    endforeach()
    set(${out} "${lacking}" PARENT_SCOPE)
endfunction()

# An executable that sees the insides of the library.
function(weir_inside_program label target)
    add_executable(${target} ${ARGN})
    target_include_directories(${target} PRIVATE src include test bench)
    target_compile_definitions(${target} PRIVATE _GNU_SOURCE)
    target_compile_options(${target} PRIVATE -UNDEBUG) # a test's assert is never compiled out
    target_link_libraries(${target} PRIVATE weir_inside m)
    set_target_properties(${target} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/test")
    add_dependencies(tests-${label} ${target})
endfunction()

# What the programs of a folder share, compiled once.
function(weir_helpers folder suffix)
    if(TARGET ${folder}-helpers)
        return()
    endif()
    file(GLOB helpers CONFIGURE_DEPENDS "${test_dir}/${folder}/*.c")
    list(FILTER helpers EXCLUDE REGEX "_${suffix}\\.c$")
    add_library(${folder}-helpers OBJECT ${helpers})
    target_include_directories(${folder}-helpers PRIVATE src include test)
    target_compile_definitions(${folder}-helpers PRIVATE _GNU_SOURCE "TEST_FOLDER=\"${test_dir}\"")
    target_compile_options(${folder}-helpers PRIVATE -UNDEBUG)
endfunction()

# One program for each source FOLDER/NAME_SUFFIX.c, with the helpers of its folder:
#   weir_programs(FOLDER SUFFIX NAMES name... [USES library...] [PARTS source of src/cli, or weir-bench/source...]
#                 [WRAPS function...] [TIER check|test|prove])
# A source that no row names stops cmake, at weir_all_declared.
function(weir_programs folder suffix)
    cmake_parse_arguments(PARSE_ARGV 2 row "" "TIER" "NAMES;USES;PARTS;WRAPS")
    if(NOT row_TIER)
        set(row_TIER test)
    endif()
    weir_helpers(${folder} ${suffix})
    list(TRANSFORM row_PARTS APPEND .c)
    list(TRANSFORM row_PARTS PREPEND "${PROJECT_SOURCE_DIR}/bench/" REGEX "^weir-bench/")
    list(TRANSFORM row_PARTS PREPEND "${PROJECT_SOURCE_DIR}/src/cli/" REGEX "^[^/]")
    foreach(name IN LISTS row_NAMES)
        set_property(GLOBAL APPEND PROPERTY weir_declared_${folder} "${name}")
        weir_lacking(lacking ${row_USES})
        if(lacking)
            weir_skipped(${folder} ${name} ${row_TIER} "${lacking}")
            continue()
        endif()
        set(target ${folder}-${name})
        weir_inside_program(${folder} ${target} "${test_dir}/${folder}/${name}_${suffix}.c" 
            $<TARGET_OBJECTS:${folder}-helpers> ${row_PARTS})
        foreach(use IN LISTS row_USES)
            target_link_libraries(${target} PRIVATE ${uses_${use}})
        endforeach()
        target_compile_definitions(${target} PRIVATE "TEST_FOLDER=\"${test_dir}\"")
        # A test that defines __wrap_FUNCTION takes the place of that function for all that call it from another file.
        # With FORTIFY clang would call another one.
        if(row_WRAPS)
            target_compile_options(${target} PRIVATE "SHELL:-U _FORTIFY_SOURCE") # behind cmake/harden.cmake
        endif()
        foreach(wrap IN LISTS row_WRAPS)
            target_link_options(${target} PRIVATE "-Wl,--wrap=${wrap}")
        endforeach()
        if(NOT WEIR_FUZZ)
            weir_test(${folder} ${name} ${row_TIER} ${target})
        endif()
    endforeach()
endfunction()

function(weir_all_declared folder suffix)
    file(GLOB sources CONFIGURE_DEPENDS "${test_dir}/${folder}/*_${suffix}.c")
    get_property(declared GLOBAL PROPERTY weir_declared_${folder})
    foreach(source IN LISTS sources)
        get_filename_component(name "${source}" NAME)
        string(REGEX REPLACE "_${suffix}\\.c$" "" name "${name}")
        if(NOT name IN_LIST declared)
            message(FATAL_ERROR "test/${folder}/${name}_${suffix}.c has no row in test/tests.cmake")
        endif()
    endforeach()
endfunction()

# Each script of the folder is a test that gets the command, but for those EXCEPT; PROVE: only `make prove` runs these;
# ALONE: they load both processors.
function(weir_scripts folder)
    cmake_parse_arguments(PARSE_ARGV 1 row "" "" "PROVE;ALONE")
    file(GLOB scripts CONFIGURE_DEPENDS "${test_dir}/${folder}/*.sh")
    add_dependencies(tests-${folder} weir_cli weir_bench)
    foreach(script IN LISTS scripts)
        get_filename_component(name "${script}" NAME_WE)
        set(tier test)
        if(name IN_LIST row_PROVE)
            set(tier prove)
        endif()
        weir_test(${folder} ${name} ${tier}
            env "WEIR_BUILD=${PROJECT_BINARY_DIR}" bash "${script}" $<TARGET_FILE:weir_cli>)
        if(name IN_LIST row_ALONE)
            set_tests_properties(${folder}/${name} PROPERTIES PROCESSORS 2)
        endif()
    endforeach()
    foreach(name IN LISTS row_PROVE row_ALONE)
        if(NOT EXISTS "${test_dir}/${folder}/${name}.sh")
            message(FATAL_ERROR "test/tests.cmake names test/${folder}/${name}.sh, which is not there")
        endif()
    endforeach()
endfunction()

include("${test_dir}/tests.cmake")
