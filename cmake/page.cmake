# SPDX-License-Identifier: MIT
# The page of `weir replay --html`: its sources (web/) and uPlot (web/node_modules, see tools/page) as one C array.
set(WEIR_PAGE AUTO CACHE STRING "Embed the page of weir replay --html: ON, OFF, or AUTO (when tools/page got uPlot)")
set_property(CACHE WEIR_PAGE PROPERTY STRINGS AUTO ON OFF)

set(web "${PROJECT_SOURCE_DIR}/web")
set(uplot "${web}/node_modules/uplot")
set(page_parts "${web}/page.html" "${web}/page.css" "${web}/page.js" "${web}/form.js" "${web}/plot.js"
    "${uplot}/dist/uPlot.min.css" "${uplot}/dist/uPlot.iife.min.js" "${uplot}/LICENSE")
set(page_source "${PROJECT_BINARY_DIR}/page/page_template.c")
set(has_page ${WEIR_PAGE})
if(WEIR_PAGE STREQUAL "AUTO")
    set(has_page OFF)
    if(EXISTS "${uplot}/dist/uPlot.iife.min.js")
        set(has_page ON)
    endif()
elseif(WEIR_PAGE AND NOT EXISTS "${uplot}/dist/uPlot.iife.min.js")
    message(FATAL_ERROR "WEIR_PAGE is ON, but uPlot is not in ${uplot}: tools/page gets it")
endif()
if(NOT has_page)
    set(page_parts "")
    message(STATUS "weir: built without the page of weir replay --html (tools/page gets what it needs)")
endif()

add_custom_command(
    OUTPUT "${page_source}"
    COMMAND "${CMAKE_COMMAND}" "-DWITH=${has_page}" "-DWEB=${web}" "-DUPLOT=${uplot}" "-DOUT=${page_source}"
        -P "${PROJECT_SOURCE_DIR}/cmake/embed_page.cmake"
    DEPENDS ${page_parts} "${PROJECT_SOURCE_DIR}/cmake/embed_page.cmake" "${PROJECT_BINARY_DIR}/page/with_${has_page}"
    COMMENT "Embedding the page"
    VERBATIM)
if(NOT EXISTS "${PROJECT_BINARY_DIR}/page/with_${has_page}") # a switch that is turned makes the source anew
    file(REMOVE "${PROJECT_BINARY_DIR}/page/with_ON" "${PROJECT_BINARY_DIR}/page/with_OFF")
    file(WRITE "${PROJECT_BINARY_DIR}/page/with_${has_page}" "")
endif()
add_library(weir_page OBJECT "${page_source}")
target_include_directories(weir_page PRIVATE src)
set(WEIR_HAS_PAGE ${has_page})
