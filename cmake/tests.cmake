# SPDX-License-Identifier: MIT
# The tests: found by name, one function per way of building them.  `tests-LABEL` builds all that LABEL runs.
find_package(PkgConfig)
set(test_dir "${PROJECT_SOURCE_DIR}/test")

foreach(label IN ITEMS unit law explore vectors stress golden example tidy install bench page serve)
    add_custom_target(tests-${label})
endforeach()

# An executable that sees the insides of the library.
function(weir_inside_program label target)
    add_executable(${target} ${ARGN})
    target_include_directories(${target} PRIVATE src include test)
    target_compile_definitions(${target} PRIVATE _GNU_SOURCE)
    target_compile_options(${target} PRIVATE -UNDEBUG) # a test's assert is never compiled out
    target_link_libraries(${target} PRIVATE weir_inside m)
    set_target_properties(${target} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/test")
    add_dependencies(tests-${label} ${target})
endfunction()

# Does this test include parts of the service?  Then it is linked with them, or left out where they are not built.
function(weir_uses_serve source out)
    file(STRINGS "${source}" uses REGEX "^#include \"(serve/|format/http\\.h)")
    set(${out} OFF PARENT_SCOPE)
    if(uses)
        set(${out} ON PARENT_SCOPE)
    endif()
endfunction()

# Exit status 77 says that something the test needs is not on this machine.
function(weir_test label name)
    add_test(NAME ${label}/${name} COMMAND ${ARGN} COMMAND_EXPAND_LISTS)
    set_tests_properties(${label}/${name} PROPERTIES LABELS ${label} TIMEOUT 300 SKIP_RETURN_CODE 77)
endfunction()

function(weir_lacking label what)
    message(STATUS "weir: ${what} is not here: the ${label} tests will be skipped (tools/deps test installs it)")
    weir_test(${label} needs-${what} sh -c "echo ${what} was not found by cmake && exit 77")
endfunction()

# Splits the sources of a folder into ${prefix}_mains (those that match, one program each) and ${prefix}_helpers.
function(weir_split prefix folder match)
    file(GLOB helpers CONFIGURE_DEPENDS "${test_dir}/${folder}/*.c")
    set(mains ${helpers})
    list(FILTER mains INCLUDE REGEX "${match}")
    list(FILTER helpers EXCLUDE REGEX "${match}")
    set(${prefix}_mains ${mains} PARENT_SCOPE)
    set(${prefix}_helpers ${helpers} PARENT_SCOPE)
endfunction()

# ---- laws: a property is a test, and with clang a fuzz target ----
weir_split(law law "_law\\.c$")
foreach(source IN LISTS law_mains)
    string(REGEX REPLACE ".*/(.*)_law\\.c$" "\\1" name "${source}")
    weir_uses_serve("${source}" serve)
    if(serve AND NOT WEIR_HAS_SERVE)
        continue()
    endif()
    weir_inside_program(law law-${name} "${source}" ${law_helpers})
    if(serve)
        target_link_libraries(law-${name} PRIVATE weir_serve)
    endif()
    if(WEIR_FUZZ)
        target_compile_definitions(law-${name} PRIVATE WEIR_FUZZ)
        target_link_options(law-${name} PRIVATE -fsanitize=fuzzer)
        set(found "${PROJECT_BINARY_DIR}/corpus/${name}/") # new inputs go here; those kept are in test/law/corpus
        file(MAKE_DIRECTORY "${found}")
        set(kept "${test_dir}/law/corpus/${name}")
        if(NOT EXISTS "${kept}")
            set(kept "")
        endif()
        weir_test(law ${name} law-${name} -runs=20000 -max_total_time=10 -seed=1 "-artifact_prefix=${found}"
            "${found}" ${kept})
    else()
        weir_test(law ${name} law-${name})
    endif()
endforeach()
if(WEIR_FUZZ)
    return()
endif()

# ---- unit ----
if(PKG_CONFIG_FOUND)
    pkg_check_modules(cmocka IMPORTED_TARGET cmocka)
    pkg_check_modules(json_c IMPORTED_TARGET json-c)
endif()
weir_split(unit unit "_test\\.c$")
if(unit_mains AND NOT cmocka_FOUND)
    weir_lacking(unit cmocka)
    set(unit_mains "")
endif()
foreach(source IN LISTS unit_mains)
    string(REGEX REPLACE ".*/(.*)_test\\.c$" "\\1" name "${source}")
    # Parts of the command are in no library: a test that includes cli/PART.h is built with src/cli/PART.c.
    file(STRINGS "${source}" parts REGEX "^#include \"cli/")
    list(TRANSFORM parts REPLACE "^#include \"(.*)\\.h\".*" "${PROJECT_SOURCE_DIR}/src/\\1.c")
    weir_uses_serve("${source}" serve)
    if(serve AND NOT WEIR_HAS_SERVE)
        continue()
    endif()
    weir_inside_program(unit unit-${name} "${source}" ${unit_helpers} ${parts})
    if(serve)
        target_link_libraries(unit-${name} PRIVATE weir_serve)
    endif()
    target_link_libraries(unit-${name} PRIVATE PkgConfig::cmocka)
    # A test that defines __wrap_FUNCTION takes the place of that function for all who call it from another file.
    file(STRINGS "${source}" wraps REGEX "__wrap_[a-z_]+\\([^)]*\\);$")
    foreach(wrap IN LISTS wraps)
        string(REGEX REPLACE ".*__wrap_([a-z_]+)\\(.*" "-Wl,--wrap=\\1" wrap "${wrap}")
        target_link_options(unit-${name} PRIVATE "${wrap}")
    endforeach()
    if(parts)
        find_package(ZLIB REQUIRED)
        target_link_libraries(unit-${name} PRIVATE ZLIB::ZLIB)
    endif()
    weir_test(unit ${name} unit-${name})
endforeach()

# ---- explore: the very sources of share and core, over atomics that the explorer steps through ----
weir_split(explore explore "/(self_test|.*_explore)\\.c$")
file(GLOB explored CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/share/*.c" "${PROJECT_SOURCE_DIR}/src/core/*.c"
    "${PROJECT_SOURCE_DIR}/src/plan/*.c")
if(explore_mains)
    add_library(weir_explored STATIC ${explored} ${explore_helpers})
    # The shim comes first: its share/atomic.h takes the place of the real one.
    target_include_directories(weir_explored PUBLIC test/explore/shim src include test)
    target_compile_definitions(weir_explored PUBLIC _GNU_SOURCE)
    target_compile_options(weir_explored PUBLIC -UNDEBUG)
    set_target_properties(weir_explored PROPERTIES ARCHIVE_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/inside")
endif()
foreach(source IN LISTS explore_mains)
    string(REGEX REPLACE ".*/(.*)\\.c$" "\\1" name "${source}")
    add_executable(explore-${name} "${source}")
    target_link_libraries(explore-${name} PRIVATE weir_explored Threads::Threads m)
    set_target_properties(explore-${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/test")
    add_dependencies(tests-explore explore-${name})
    weir_test(explore ${name} explore-${name})
endforeach()

# ---- vectors: what existing limiters answer; each folder with .json files is a test ----
file(GLOB sources CONFIGURE_DEPENDS "${test_dir}/vectors/*.c")
file(GLOB vectors CONFIGURE_DEPENDS "${test_dir}/vectors/*.json" "${test_dir}/vectors/*/*.json")
if(sources AND NOT json_c_FOUND)
    weir_lacking(vectors json-c)
elseif(sources)
    weir_inside_program(vectors weir-vectors ${sources})
    target_link_libraries(weir-vectors PRIVATE PkgConfig::json_c)
    set_target_properties(weir-vectors PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}")
    list(TRANSFORM vectors REPLACE "/[^/]*$" "")
    list(REMOVE_DUPLICATES vectors)
    foreach(folder IN LISTS vectors)
        get_filename_component(name "${folder}" NAME)
        weir_test(vectors ${name} weir-vectors "${folder}")
    endforeach()
endif()

# ---- stress: real threads ----
weir_split(stress stress "_stress\\.c$")
foreach(source IN LISTS stress_mains)
    string(REGEX REPLACE ".*/(.*)_stress\\.c$" "\\1" name "${source}")
    weir_inside_program(stress stress-${name} "${source}" ${stress_helpers})
    weir_test(stress ${name} stress-${name})
    set_tests_properties(stress/${name} PROPERTIES PROCESSORS 2)
endforeach()

# ---- golden: the command as a user sees it ----
file(GLOB scripts CONFIGURE_DEPENDS "${test_dir}/golden/*.sh")
if(TARGET weir_cli)
    add_dependencies(tests-golden weir_cli)
    foreach(script IN LISTS scripts)
        get_filename_component(name "${script}" NAME_WE)
        weir_test(golden ${name} bash "${script}" $<TARGET_FILE:weir_cli>)
    endforeach()
endif()

# ---- serve: real clients against a real weir serve ----
file(GLOB scripts CONFIGURE_DEPENDS "${test_dir}/serve/*.sh")
if(TARGET weir_cli AND WEIR_HAS_SERVE)
    add_dependencies(tests-serve weir_cli)
    foreach(script IN LISTS scripts)
        get_filename_component(name "${script}" NAME_WE)
        weir_test(serve ${name} bash "${script}" $<TARGET_FILE:weir_cli>)
    endforeach()
elseif(TARGET weir_cli)
    weir_test(serve needs-libuv sh -c "echo weir serve is not built: ${serve_lacks} && exit 77")
endif()

# ---- page: what weir replay --html writes, in a real browser ----
if(TARGET weir_cli)
    weir_inside_program(page page-fixture "${test_dir}/page/fixture.c" src/cli/page.c src/cli/json.c
        src/cli/arguments.c $<TARGET_OBJECTS:weir_page>)
    set(without "${PROJECT_BINARY_DIR}/page/without.c")
    add_custom_command(OUTPUT "${without}" VERBATIM
        COMMAND "${CMAKE_COMMAND}" -DWITH=OFF "-DOUT=${without}" -P "${PROJECT_SOURCE_DIR}/cmake/embed_page.cmake"
        DEPENDS "${PROJECT_SOURCE_DIR}/cmake/embed_page.cmake")
    weir_inside_program(page page-without "${test_dir}/page/fixture.c" src/cli/page.c src/cli/json.c
        src/cli/arguments.c "${without}")
    if(WEIR_HAS_PAGE)
        weir_test(page look bash "${test_dir}/page/look.sh" $<TARGET_FILE:page-fixture>)
        weir_test(page write bash "${test_dir}/page/write.sh" $<TARGET_FILE:page-fixture> $<TARGET_FILE:page-without>)
        weir_test(page fetch bash "${test_dir}/page/fetch.sh" "${PROJECT_SOURCE_DIR}")
    else()
        weir_test(page needs-uPlot sh -c "echo tools/page could not get uPlot && exit 77")
    endif()
endif()

# ---- examples: against the library as its users have it ----
file(GLOB sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/examples/*.c")
foreach(source IN LISTS sources)
    get_filename_component(name "${source}" NAME_WE)
    add_executable(example-${name} "${source}")
    target_link_libraries(example-${name} PRIVATE weir::weir)
    set_target_properties(example-${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/examples")
    add_dependencies(tests-example example-${name})
    weir_test(example ${name} example-${name})
endforeach()

# ---- bench: run small, so that none of them rots ----
file(GLOB sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/bench/*.c")
foreach(source IN LISTS sources)
    get_filename_component(name "${source}" NAME_WE)
    weir_inside_program(bench bench-${name} "${source}")
    set_target_properties(bench-${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}")
    add_dependencies(bench-${name} weir_cli) # bench/pace.c runs it
    weir_test(bench ${name} bench-${name} --small)
endforeach()

# What measures the service: a load client and the least that a server does.
weir_inside_program(bench bench-serve-client bench/serve/client.c bench/serve/tape.c bench/serve/reply.c)
weir_inside_program(bench bench-serve-bare bench/serve/bare.c bench/serve/answer.c)
if(TARGET weir_cli)
    add_dependencies(bench-serve-client weir_cli) # bench/serve/run runs it
    weir_test(bench serve env WEIR_SMALL=1 "WEIR_BUILD=${PROJECT_BINARY_DIR}" "${PROJECT_SOURCE_DIR}/bench/serve/run")
    set_tests_properties(bench/serve PROPERTIES PROCESSORS 2)
endif()

# ---- tidy and install: sanitizers add symbols of their own, so only plain builds are looked at ----
if(WEIR_SANITIZE)
    return()
endif()
set(tidy "${test_dir}/tidy")
weir_test(tidy rooms bash "${tidy}/rooms.sh" "${PROJECT_SOURCE_DIR}")
weir_test(tidy style bash "${tidy}/style.sh" "${PROJECT_SOURCE_DIR}")
weir_test(tidy header bash "${tidy}/header.sh" "${PROJECT_SOURCE_DIR}" "${CMAKE_C_COMPILER}")
weir_test(tidy self-check bash "${tidy}/self_check.sh" "${CMAKE_C_COMPILER}" "${CMAKE_NM}")
set(inner "")
foreach(room IN ITEMS core plan share)
    if(TARGET weir_${room})
        set(below ${inner}) # what this room may use: the rooms under it
        list(APPEND inner $<TARGET_OBJECTS:weir_${room}>)
        weir_test(tidy purity-${room} bash "${tidy}/purity.sh" "${CMAKE_NM}" $<TARGET_OBJECTS:weir_${room}>
            -- ${below})
    endif()
endforeach()
if(WEIR_SHARED)
    weir_test(tidy symbols bash "${tidy}/symbols.sh" "${PROJECT_SOURCE_DIR}" "${CMAKE_NM}"
        $<TARGET_FILE:weir_static> $<TARGET_FILE:weir_shared>)
    add_dependencies(tests-tidy ${weir_libraries})
    weir_test(install consumer bash "${test_dir}/install/run.sh" "${PROJECT_BINARY_DIR}" "${CMAKE_COMMAND}"
        "${CMAKE_C_COMPILER}")
    add_dependencies(tests-install product)
endif()
