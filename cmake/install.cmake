# SPDX-License-Identifier: MIT
# What `cmake --install` puts where.  Everything installed finds the rest relative to itself, so any prefix will do.
include(CMakePackageConfigHelpers)
set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/weir")

install(TARGETS ${weir_libraries} EXPORT weir-targets)
install(DIRECTORY include/weir DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}" FILES_MATCHING PATTERN "*.h")
if(TARGET weir_cli)
    install(TARGETS weir_cli weir_bench)
    install(TARGETS weir_whole RUNTIME DESTINATION "${weir_whole_place}")
    set(completions src/cli/completions)
    foreach(program IN ITEMS weir weir-bench) # bash and fish look for a file of the program's name, zsh looks into them
        install(FILES ${completions}/weir.bash DESTINATION "${CMAKE_INSTALL_DATADIR}/bash-completion/completions"
            RENAME ${program})
        install(FILES ${completions}/weir.fish DESTINATION "${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d"
            RENAME ${program}.fish)
    endforeach()
    install(FILES ${completions}/_weir DESTINATION "${CMAKE_INSTALL_DATADIR}/zsh/site-functions")
endif()

file(GLOB pages CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/doc/man/*.[1-9]")
foreach(page IN LISTS pages)
    string(REGEX REPLACE ".*\\." "" section "${page}")
    install(FILES "${page}" DESTINATION "${CMAKE_INSTALL_MANDIR}/man${section}")
    # Each function by its own name, also where no index of pages is kept.
    get_filename_component(file "${page}" NAME)
    file(STRINGS "${page}" names REGEX "^\\.Nm weir_[a-z_]+( ,)?$")
    list(REMOVE_DUPLICATES names)
    foreach(name IN LISTS names)
        string(REGEX REPLACE "^\\.Nm (weir_[a-z_]+).*" "\\1.${section}" link "${name}")
        if(NOT link STREQUAL file)
            file(CONFIGURE OUTPUT "man/${link}" CONTENT ".so man${section}/${file}\n")
            install(FILES "${PROJECT_BINARY_DIR}/man/${link}" DESTINATION "${CMAKE_INSTALL_MANDIR}/man${section}")
        endif()
    endforeach()
endforeach()

file(RELATIVE_PATH weir_pc_prefix "${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig" "${CMAKE_INSTALL_PREFIX}")
configure_file(cmake/weir.pc.in weir.pc @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/weir.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")

configure_package_config_file(cmake/weirConfig.cmake.in weirConfig.cmake INSTALL_DESTINATION "${package_dir}")
# A newer minor version has all that an older one had: doc/stability.md.
write_basic_package_version_file(weirConfigVersion.cmake COMPATIBILITY SameMajorVersion)
install(FILES "${PROJECT_BINARY_DIR}/weirConfig.cmake" "${PROJECT_BINARY_DIR}/weirConfigVersion.cmake"
    DESTINATION "${package_dir}")
# What engines are given, by `loadmodule` and by `redis-cli -x FUNCTION LOAD`.
if(WEIR_HAS_MODULE)
    install(TARGETS weir_module LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}/weir"
        PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ
            WORLD_EXECUTE) # Redis 7 loads nothing that may not be executed
endif()
install(FILES "${script}" DESTINATION "${CMAKE_INSTALL_DATADIR}/weir")

if(WEIR_HAS_ENGINE) # the archive by pkg-config only: hiredis of Debian 12 has no package for CMake
    install(TARGETS weir_redis_static)
    if(TARGET weir_redis_shared)
        install(TARGETS weir_redis_shared EXPORT weir-redis-targets)
        install(EXPORT weir-redis-targets NAMESPACE weir:: DESTINATION "${package_dir}")
    endif()
    configure_file(cmake/weir-redis.pc.in weir-redis.pc @ONLY)
    install(FILES "${PROJECT_BINARY_DIR}/weir-redis.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
endif()
install(EXPORT weir-targets NAMESPACE weir:: DESTINATION "${package_dir}")
