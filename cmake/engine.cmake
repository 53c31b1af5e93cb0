# SPDX-License-Identifier: MIT
# Beyond one machine: weir-redis.so, the module that engines load, and libweir-redis, who asks them.
set(WEIR_ENGINE AUTO CACHE STRING "Build libweir-redis: ON, OFF, or AUTO (when hiredis is here)")
set_property(CACHE WEIR_ENGINE PROPERTY STRINGS AUTO ON OFF)

# ---- the module: needs nothing but the core ----
file(GLOB module_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/redis/module/*.c")
set(WEIR_HAS_MODULE OFF)
if(module_sources AND CMAKE_SYSTEM_NAME STREQUAL "Linux")
    set(WEIR_HAS_MODULE ON)
    add_library(weir_module MODULE ${module_sources} ${micro} src/share/hash/hash.c src/share/recent.c
        $<TARGET_OBJECTS:weir_core> $<TARGET_OBJECTS:weir_plan>)
    target_include_directories(weir_module PRIVATE include src)
    set_target_properties(weir_module PROPERTIES OUTPUT_NAME weir-redis PREFIX "")
    add_dependencies(product weir_module)
endif()

# ---- weir.lua, for engines that load no modules ----
set(script "${PROJECT_SOURCE_DIR}/src/redis/script/weir.lua")

# ---- the client ----
find_package(PkgConfig)
if(PKG_CONFIG_FOUND)
    pkg_check_modules(hiredis IMPORTED_TARGET hiredis)
    pkg_check_modules(openssl IMPORTED_TARGET openssl)
endif()
set(WEIR_HAS_ENGINE ${WEIR_ENGINE})
if(WEIR_ENGINE STREQUAL "AUTO")
    set(WEIR_HAS_ENGINE ${hiredis_FOUND})
    if(NOT hiredis_FOUND)
        weir_without("libweir-redis, weir engine and engine:, which need hiredis"
            "limits of one machine, and weir.lua for engines, are there" "tools/deps build")
    endif()
elseif(WEIR_ENGINE AND NOT hiredis_FOUND)
    message(FATAL_ERROR "WEIR_ENGINE is ON, but hiredis is not here")
endif()
file(GLOB_RECURSE engine_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/redis/client/*.c")
set(weir_client weir_engine) # what the command and the service link
if(NOT WEIR_HAS_ENGINE)
    set(WEIR_HAS_ENGINE OFF)
    set(weir_client weir_engine_none)
    set(client "${PROJECT_SOURCE_DIR}/src/redis/client") # weir replay simulates leases all the same
    add_library(weir_engine_none STATIC "${client}/engine_none.c" "${client}/local/lease.c" "${client}/local/refusal.c")
    target_link_libraries(weir_engine_none PUBLIC weir_inside)
    set_target_properties(weir_engine_none PROPERTIES ARCHIVE_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/inside")
    return()
endif()
list(FILTER engine_sources EXCLUDE REGEX "/engine_none\\.c$")
set(engine_tls OFF) # rediss://; WEIR_TLS is in serve.cmake
if(openssl_FOUND AND NOT (DEFINED WEIR_TLS AND NOT WEIR_TLS))
    set(engine_tls ON)
endif()
weir_either(engine_sources "${engine_tls}" secure)
if(engine_tls)
    list(APPEND engine_sources "${PROJECT_SOURCE_DIR}/src/tls/tls.c")
endif()

# For engines that do not have it yet.
set(script_source "${PROJECT_BINARY_DIR}/engine/script.c")
add_custom_command(
    OUTPUT "${script_source}"
    COMMAND "${CMAKE_COMMAND}" "-DSCRIPT=${script}" "-DOUT=${script_source}"
        -P "${PROJECT_SOURCE_DIR}/cmake/embed_script.cmake"
    DEPENDS "${script}" "${PROJECT_SOURCE_DIR}/cmake/embed_script.cmake" "${PROJECT_SOURCE_DIR}/cmake/c_string.cmake"
    COMMENT "Embedding ${script}"
    VERBATIM)

set(engine_needs PkgConfig::hiredis)
set(weir_redis_requires hiredis) # for weir-redis.pc
if(engine_tls)
    set(weir_redis_requires "hiredis, openssl")
    list(APPEND engine_needs PkgConfig::openssl)
endif()
add_library(weir_engine_objects OBJECT ${engine_sources} "${script_source}")
target_include_directories(weir_engine_objects PRIVATE include src)
target_compile_definitions(weir_engine_objects PRIVATE _GNU_SOURCE $<$<BOOL:${engine_tls}>:WEIR_ENGINE_TLS>)
target_link_libraries(weir_engine_objects PRIVATE ${engine_needs})
set_target_properties(weir_engine_objects PROPERTIES POSITION_INDEPENDENT_CODE ON)

# For the command and the tests: with the insides visible, beside weir_inside.
add_library(weir_engine STATIC $<TARGET_OBJECTS:weir_engine_objects>)
target_link_libraries(weir_engine PUBLIC weir_inside ${engine_needs})
set_target_properties(weir_engine PROPERTIES ARCHIVE_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/inside" LINKER_LANGUAGE C)

# libweir-redis.a and libweir-redis.so: weir_engine_* is shown.  What of weir they use is inside once more, so that they
# need no insides of a libweir that may be another version.
add_library(weir_micro OBJECT ${micro})
target_include_directories(weir_micro PRIVATE include src)
set_target_properties(weir_micro PROPERTIES POSITION_INDEPENDENT_CODE ON)
set(redis_objects $<TARGET_OBJECTS:weir_engine_objects> $<TARGET_OBJECTS:weir_micro> ${weir_objects})
set(redis_joined "${PROJECT_BINARY_DIR}/weir-redis-joined.o")
add_custom_command(
    OUTPUT "${redis_joined}"
    COMMAND "${CMAKE_C_COMPILER}" -nostdlib -r -o "${redis_joined}" ${redis_objects}
    COMMAND "${CMAKE_OBJCOPY}" --wildcard --keep-global-symbol=weir_engine_* "${redis_joined}"
    DEPENDS ${redis_objects}
    COMMENT "Joining the objects of libweir-redis.a"
    COMMAND_EXPAND_LISTS VERBATIM)
add_library(weir_redis_static STATIC "${redis_joined}")
add_dependencies(weir_redis_static weir_engine_objects weir_micro ${weir_components})
set_source_files_properties("${redis_joined}" PROPERTIES EXTERNAL_OBJECT ON GENERATED ON)
set_target_properties(weir_redis_static PROPERTIES OUTPUT_NAME weir-redis LINKER_LANGUAGE C)
set(weir_redis_libraries weir_redis_static)
if(WEIR_SHARED)
    set(redis_map "${PROJECT_SOURCE_DIR}/cmake/weir-redis.map")
    add_library(weir_redis_shared SHARED ${redis_objects})
    set_target_properties(weir_redis_shared PROPERTIES OUTPUT_NAME weir-redis EXPORT_NAME weir-redis LINKER_LANGUAGE C
        VERSION ${PROJECT_VERSION} SOVERSION ${weir_abi} LINK_DEPENDS "${redis_map}")
    target_link_libraries(weir_redis_shared PRIVATE Threads::Threads ${engine_needs} INTERFACE weir_shared)
    target_link_options(weir_redis_shared PRIVATE "LINKER:--version-script=${redis_map}")
    list(APPEND weir_redis_libraries weir_redis_shared)
endif()
add_dependencies(product ${weir_redis_libraries})
