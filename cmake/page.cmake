# SPDX-License-Identifier: MIT
# The pages: of `weir replay --html` and of `weir serve`.  Their sources (web/) and uPlot (web/node_modules, see
# tools/page) as one C string each.
set(WEIR_PAGE AUTO CACHE STRING "Embed the pages of weir replay and weir serve: ON, OFF, or AUTO (when uPlot is here)")
set_property(CACHE WEIR_PAGE PROPERTY STRINGS AUTO ON OFF)

set(web "${PROJECT_SOURCE_DIR}/web")
set(uplot "${web}/node_modules/uplot")
set(WEIR_HAS_PAGE ${WEIR_PAGE})
if(WEIR_PAGE STREQUAL "AUTO")
    set(WEIR_HAS_PAGE OFF)
    if(EXISTS "${uplot}/dist/uPlot.iife.min.js")
        set(WEIR_HAS_PAGE ON)
    endif()
elseif(WEIR_PAGE AND NOT EXISTS "${uplot}/dist/uPlot.iife.min.js")
    message(FATAL_ERROR "WEIR_PAGE is ON, but uPlot is not in ${uplot}: tools/page gets it")
endif()
if(NOT WEIR_HAS_PAGE)
    weir_without("the pages of weir replay --html and of weir serve"
        "reports are text or JSON, the service answers and has /metrics" tools/page)
endif()
if(NOT EXISTS "${PROJECT_BINARY_DIR}/page/with_${WEIR_HAS_PAGE}") # a switch that is turned makes the sources anew
    file(REMOVE "${PROJECT_BINARY_DIR}/page/with_ON" "${PROJECT_BINARY_DIR}/page/with_OFF")
    file(WRITE "${PROJECT_BINARY_DIR}/page/with_${WEIR_HAS_PAGE}" "")
endif()

# The page as a C file, whose function the header declares.  STYLES and SCRIPTS: in the order of use.
function(weir_embed out with header function page)
    cmake_parse_arguments(PARSE_ARGV 5 parts "" "" "STYLES;SCRIPTS")
    set(needs "")
    if(with)
        set(needs "${page}" ${parts_STYLES} ${parts_SCRIPTS} "${uplot}/dist/uPlot.min.css"
            "${uplot}/dist/uPlot.iife.min.js" "${uplot}/LICENSE")
    endif()
    list(JOIN parts_STYLES "," styles)
    list(JOIN parts_SCRIPTS "," scripts)
    add_custom_command(
        OUTPUT "${out}"
        COMMAND "${CMAKE_COMMAND}" "-DWITH=${with}" "-DPAGE=${page}" "-DSTYLES=${styles}" "-DSCRIPTS=${scripts}"
            "-DUPLOT=${uplot}" "-DHEADER=${header}" "-DFUNCTION=${function}" "-DOUT=${out}"
            -P "${PROJECT_SOURCE_DIR}/cmake/embed_page.cmake"
        DEPENDS ${needs} "${PROJECT_SOURCE_DIR}/cmake/embed_page.cmake"
            "${PROJECT_SOURCE_DIR}/cmake/c_string.cmake" "${PROJECT_BINARY_DIR}/page/with_${WEIR_HAS_PAGE}"
        COMMENT "Embedding ${page}"
        VERBATIM)
endfunction()

# The page of weir replay --html.
function(weir_embed_replay out with)
    weir_embed("${out}" ${with} cli/replay/page.h page_template "${web}/page.html"
        STYLES "${web}/colours.css" "${web}/page.css"
        SCRIPTS "${web}/form.js" "${web}/draw.js" "${web}/plot.js" "${web}/page.js")
endfunction()

# The page of weir serve.
function(weir_embed_live out with)
    set(live "${web}/live")
    weir_embed("${out}" ${with} serve/stats/live.h live_template "${live}/page.html"
        STYLES "${web}/colours.css" "${live}/live.css"
        SCRIPTS "${web}/form.js" "${web}/draw.js" "${live}/feed.js" "${live}/plots.js" "${live}/live.js")
endfunction()

weir_embed_replay("${PROJECT_BINARY_DIR}/page/page_template.c" ${WEIR_HAS_PAGE})
add_library(weir_page OBJECT "${PROJECT_BINARY_DIR}/page/page_template.c")
target_include_directories(weir_page PRIVATE src)
weir_embed_live("${PROJECT_BINARY_DIR}/page/live_template.c" ${WEIR_HAS_PAGE})
