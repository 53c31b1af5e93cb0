# SPDX-License-Identifier: MIT
# The command `weir`.
file(GLOB_RECURSE sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/cli/*.c")
if(WEIR_HAS_SERVE) # serve.c and serve_none.c have the same function
    list(FILTER sources EXCLUDE REGEX "/serve_none\\.c$")
else()
    list(FILTER sources EXCLUDE REGEX "/serve\\.c$")
endif()
if(WEIR_HAS_ENGINE) # and so have engine.c, take/engine.c and replay/charge.c together, and engine_none.c
    list(FILTER sources EXCLUDE REGEX "/engine_none\\.c$")
else()
    list(FILTER sources EXCLUDE REGEX "/(engine|replay/charge)\\.c$")
    # weir replay simulates them, with or without hiredis
    list(APPEND sources "${PROJECT_SOURCE_DIR}/src/engine/lease.c" "${PROJECT_SOURCE_DIR}/src/engine/refusal.c")
endif()
list(FILTER sources EXCLUDE REGEX "/unpack[a-z0-9_]*\\.c$")
if(sources)
    add_executable(weir_cli ${sources} $<TARGET_OBJECTS:weir_page>)
    target_compile_definitions(weir_cli PRIVATE _GNU_SOURCE)
    target_link_libraries(weir_cli PRIVATE weir_inside weir_unpack m)
    set_target_properties(weir_cli PROPERTIES OUTPUT_NAME weir)
    if(WEIR_HAS_SERVE)
        target_link_libraries(weir_cli PRIVATE weir_serve)
    endif()
    if(WEIR_HAS_ENGINE)
        target_link_libraries(weir_cli PRIVATE weir_engine)
    endif()
    add_dependencies(product weir_cli)
endif()
