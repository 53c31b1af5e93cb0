# SPDX-License-Identifier: MIT
# libweir.a and libweir.so, made of the same objects; both show weir_* and nothing else.

# One object library for each component, so that each has its own definitions and the tests can look at its objects.
function(weir_component name)
    file(GLOB_RECURSE sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/${name}/*.c")
    if(NOT sources)
        return()
    endif()
    add_library(weir_${name} OBJECT ${sources})
    target_include_directories(weir_${name} PRIVATE include src)
    target_compile_definitions(weir_${name} PRIVATE ${ARGN})
    # Public functions called from inside may be inlined: nobody is meant to replace them at load time.
    target_compile_options(weir_${name} PRIVATE -fno-semantic-interposition)
    if(weir_take_path_flags AND name MATCHES "^(core|share|api)$")
        target_compile_options(weir_${name} PRIVATE ${weir_take_path_flags})
    endif()
    set_target_properties(weir_${name} PROPERTIES POSITION_INDEPENDENT_CODE ON)
    set(weir_objects ${weir_objects} $<TARGET_OBJECTS:weir_${name}> PARENT_SCOPE)
    set(weir_components ${weir_components} weir_${name} PARENT_SCOPE)
endfunction()

weir_component(core)
weir_component(plan)
weir_component(share)
weir_component(host _GNU_SOURCE)
weir_component(api _POSIX_C_SOURCE=200809L)

# The engine's unit: for the module and for what simulates it, not for libweir.
file(GLOB micro CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/redis/micro/*.c")

# For the command, the tests and the benches: everything, with the insides visible, and formats, which the library has
# not.
file(GLOB_RECURSE formats CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/format/*.c")
list(FILTER formats EXCLUDE REGEX "/http\\.c$") # the service's: it needs http_parser
add_library(weir_inside STATIC ${weir_objects} ${micro} ${formats})
target_include_directories(weir_inside PUBLIC include src)
target_link_libraries(weir_inside PUBLIC Threads::Threads)
set_target_properties(weir_inside PROPERTIES ARCHIVE_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/inside")

# An archive cannot hide symbols from its users, one object can: join all, then make the hidden ones local.
set(joined "${PROJECT_BINARY_DIR}/weir-joined.o")
add_custom_command(
    OUTPUT "${joined}"
    COMMAND "${CMAKE_C_COMPILER}" -nostdlib -r -o "${joined}" ${weir_objects}
    COMMAND "${CMAKE_OBJCOPY}" --localize-hidden "${joined}"
    DEPENDS ${weir_objects}
    COMMENT "Joining the objects of libweir.a"
    COMMAND_EXPAND_LISTS VERBATIM)
add_library(weir_static STATIC "${joined}")
add_dependencies(weir_static ${weir_components}) # make knows the objects as files only: it must not look too early
set_source_files_properties("${joined}" PROPERTIES EXTERNAL_OBJECT ON GENERATED ON)
set_target_properties(weir_static PROPERTIES OUTPUT_NAME weir LINKER_LANGUAGE C EXPORT_NAME weir-static)
add_library(weir::weir-static ALIAS weir_static)
set(weir_libraries weir_static)

if(WEIR_SHARED)
    set(map "${PROJECT_SOURCE_DIR}/cmake/weir.map")
    add_library(weir_shared SHARED ${weir_objects})
    set_target_properties(weir_shared PROPERTIES OUTPUT_NAME weir EXPORT_NAME weir LINKER_LANGUAGE C
        VERSION ${PROJECT_VERSION} SOVERSION ${weir_abi} LINK_DEPENDS "${map}")
    target_link_options(weir_shared PRIVATE "LINKER:--version-script=${map}")
    if(NOT WEIR_SANITIZE)
        target_link_options(weir_shared PRIVATE LINKER:--no-undefined) # sanitizers are resolved in the program
    endif()
    add_library(weir::weir ALIAS weir_shared)
    list(APPEND weir_libraries weir_shared)
else()
    add_library(weir::weir ALIAS weir_static)
endif()

foreach(library IN LISTS weir_libraries)
    target_include_directories(${library} INTERFACE
        "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>" "$<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>")
    target_link_libraries(${library} PUBLIC Threads::Threads)
endforeach()

# What `make` builds: the libraries, and the command when it is wanted.
add_custom_target(product DEPENDS ${weir_libraries})
