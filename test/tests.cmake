# SPDX-License-Identifier: MIT
# Each test and what it uses; cmake/tests.cmake has the functions.  A source without a row here is an error.

# ---- peers: the arithmetic of other limiters, literally, to hold weir against ----
file(GLOB sources CONFIGURE_DEPENDS "${test_dir}/peers/*.c")
add_library(peers STATIC ${sources})
target_include_directories(peers PRIVATE test)
set_target_properties(peers PROPERTIES ARCHIVE_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/inside")
set(uses_peers peers)

# ---- property: a property is a test, and with clang a fuzz target ----
weir_programs(property property TIER check NAMES accesslog arrivals backward bursty change concurrent cycle due every
    fast_path fields fixed_window hostile idle leaky lease_list micro micro_bound micro_bytes micro_hybrid micro_late
    micro_log micro_retry micro_tenants parts pass profile rates region resp rest retry same settle slice sliding_log
    sliding_window table tenants text timeline total warmup weights wide window)
weir_programs(property property TIER check NAMES conserve pools USES peers)
weir_programs(property property TIER check NAMES config http serve USES serve)
weir_programs(property property TIER check NAMES states PARTS replay/states)
weir_programs(property property TIER check NAMES at PARTS common/arguments log/format pace/at)
weir_programs(property property TIER check NAMES engine_reply USES engine hiredis)
weir_all_declared(property property)
if(WEIR_FUZZ)
    get_property(properties GLOBAL PROPERTY weir_declared_property)
    foreach(name IN LISTS properties)
        if(TARGET property-${name})
            target_compile_definitions(property-${name} PRIVATE WEIR_FUZZ)
            target_link_options(property-${name} PRIVATE -fsanitize=fuzzer)
        endif()
    endforeach()
    return()
endif()

# ---- unit: one file of the sources, or one idea ----
weir_programs(unit test TIER check USES cmocka NAMES accesslog address address_text algorithm arrivals ask bursty
    bytes carry cell concurrent cost cycle dialect directive explain extremes facts fields five_per_second fixed_window
    hash host hybrid keyed keyed_edges keyed_grow arguments keep keyed_one latency leaky lease lease_fork lease_list
    lease_trade limiter limits list locked log log_held map memory micro micro_concurrent micro_log micro_state
    micro_tenants module_clock module_stamps newcomer num places plain plan profile quota_text recent region resp slept
    sliding_log sliding_window spelling stamp stamps stock stuck tenants text throttle timeline top tsc turns warmup
    wide wide_edges wide_plans wide_state word write)
set(store_parts call clock held propagation stamps)
list(TRANSFORM store_parts PREPEND "${PROJECT_SOURCE_DIR}/src/redis/module/")
weir_programs(unit test TIER check USES cmocka NAMES module_store PARTS ${store_parts})
weir_programs(unit test TIER check USES cmocka peers NAMES peers)
weir_programs(unit test TIER check USES cmocka serve NAMES batch changed_limit config deadlines held http http_auth
    http_gate http_headers http_routes notes policy quota receipt resp_commands tables tenant_calls worker)
weir_programs(unit test TIER check USES cmocka engine NAMES engine_away engine_breaker engine_clock
    engine_faults engine_flood engine_lease engine_nodes engine_owed engine_secure engine_slots engine_url)
weir_programs(unit test TIER check USES cmocka engine hiredis NAMES engine_asks
    WRAPS freeReplyObject redisGetReplyFromReader)
weir_programs(unit test TIER check USES cmocka engine NAMES engine_names WRAPS getaddrinfo pthread_create)
weir_programs(unit test TIER check USES cmocka json NAMES micro_peers)
weir_programs(unit test TIER check USES cmocka json serve NAMES redis_cell)
weir_programs(unit test TIER check USES cmocka harness NAMES bench_pacing)
weir_programs(unit test TIER check USES cmocka harness NAMES bench_window PARTS weir-bench/window)
weir_programs(unit test TIER check USES cmocka harness NAMES bench_pace_sum
    PARTS common/rows weir-bench/pace_sum weir-bench/window)
weir_programs(unit test TIER check USES cmocka NAMES clients PARTS replay/log/clients common/rows)
weir_programs(unit test TIER check USES cmocka NAMES fleet PARTS replay/fleet/tally replay/fleet/pairs common/rows)
weir_programs(unit test TIER check USES cmocka zlib NAMES hdr PARTS pace/latency/hdr)
weir_programs(unit test TIER check USES cmocka NAMES order PARTS replay/log/order)
weir_programs(unit test TIER check USES cmocka NAMES replay_page PARTS common/arguments common/json_file replay/page)
weir_programs(unit test TIER check USES cmocka unpack NAMES pace_bytes
    PARTS common/json_file log/packed pace/bytes pace/input pace/outcomes pace/profile/phase_record pace/record
        pace/record_print)
set(pace_parts common/arguments common/engine_open common/engine_password common/json_file common/signals log/format
    log/packed pace/at
    pace/bytes pace/commands pace/engine pace/follow pace/input pace/latency/fail pace/latency/hdr
    pace/latency/latency pace/latency/starts pace/lines pace/outcomes pace/pace pace/part
    pace/profile/phase_record pace/profile/profile_file pace/progress pace/record pace/record_print pace/schedule
    pace/told "${PROJECT_SOURCE_DIR}/src/redis/client/engine_none")
weir_programs(unit test TIER check USES cmocka unpack NAMES pace_at PARTS ${pace_parts}
    WRAPS host_event_wait host_now_ns poll read write)
weir_programs(unit test TIER check USES cmocka unpack NAMES pace_lines PARTS ${pace_parts}
    WRAPS host_event_wait host_now_ns host_unix_ns poll read record_start write)
weir_programs(unit test TIER check USES cmocka NAMES record
    PARTS common/json_file pace/outcomes pace/profile/phase_record pace/record pace/record_print)
weir_programs(unit test TIER check USES cmocka zlib unpack NAMES source PARTS log/packed replay/log/source)
weir_programs(unit test TIER check USES cmocka openssl NAMES tls PARTS "${PROJECT_SOURCE_DIR}/src/tls/tls" WRAPS calloc)
weir_programs(unit test TIER check USES cmocka serve engine NAMES no_memory
    WRAPS aligned_alloc calloc free getaddrinfo malloc pthread_create realloc strdup)
weir_programs(unit test TIER check USES cmocka NAMES starved PARTS common/arguments common/rows replay/tenants/tenants
    WRAPS weir_table_take_all)
weir_programs(unit test TIER check USES cmocka NAMES told_memory WRAPS aligned_alloc)
weir_programs(unit test TIER check USES cmocka NAMES map_faults
    WRAPS fallocate fchmod fcntl fstat fstatvfs ftruncate getrandom host_now_ns host_sleep_until host_yield lseek
        madvise memfd_create mmap open posix_fallocate pread pwrite read sysconf)
weir_programs(unit test TIER check USES cmocka NAMES clock_reads WRAPS host_now_ns pthread_mutex_lock)
weir_programs(unit test TIER check USES cmocka NAMES keyed_time
    WRAPS host_boot host_now_coarse_ns host_now_ns host_time_namespace_ns host_unix_ns)
weir_programs(unit test TIER check USES cmocka NAMES keyed_wait WRAPS host_shared_seen)
weir_programs(unit test TIER check USES cmocka NAMES wait
    WRAPS host_event_wait host_now_coarse_ns host_now_ns host_slot host_spin_begin pthread_mutex_lock sched_yield
        syscall)
weir_programs(unit test TIER check USES cmocka serve NAMES listen WRAPS bind socket)
weir_programs(unit test TIER check USES cmocka serve NAMES stats
    WRAPS host_unix_ns policy_free tables_live tables_read_counters tables_read_top)
weir_programs(unit test TIER check USES cmocka serve engine NAMES decide
    WRAPS weir_engine_begin weir_engine_close weir_engine_finish weir_engine_join weir_engine_limit_close
        weir_engine_limit_open weir_engine_open weir_engine_read_stats weir_engine_secret weir_engine_tick
        weir_engine_process)
weir_programs(unit test TIER check USES cmocka NAMES unload)
if(TARGET unit-unload)
    target_compile_definitions(unit-unload PRIVATE LIBRARY="$<TARGET_FILE:weir_shared>")
    target_link_libraries(unit-unload PRIVATE ${CMAKE_DL_LIBS})
    add_dependencies(unit-unload weir_shared)
endif()
weir_all_declared(unit test)

# ---- no_memory: the same tests, and the n-th allocation fails ----
if(TARGET unit-limiter AND (NOT WEIR_SANITIZE OR WEIR_SANITIZE MATCHES address))
    add_library(no_memory-fails MODULE "${test_dir}/no_memory/fails.c")
    target_compile_definitions(no_memory-fails PRIVATE _GNU_SOURCE)
    # It takes the place of what a sanitizer takes the place of, and a compiler knows what malloc does.
    target_compile_options(no_memory-fails PRIVATE -fno-builtin -fno-sanitize=all)
    target_link_options(no_memory-fails PRIVATE -fno-sanitize=all)
    target_include_directories(no_memory-fails PRIVATE ${cmocka_INCLUDE_DIRS})
    target_link_libraries(no_memory-fails PRIVATE ${CMAKE_DL_LIBS})
    set_target_properties(no_memory-fails PROPERTIES PREFIX "" C_VISIBILITY_PRESET default
        LIBRARY_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/test")
    weir_inside_program(no_memory no_memory-planted "${test_dir}/no_memory/planted.c")
    target_link_libraries(no_memory-planted PRIVATE PkgConfig::cmocka)
    set(programs "")
    get_property(names GLOBAL PROPERTY weir_declared_unit)
    foreach(name IN LISTS names)
        if(TARGET unit-${name})
            list(APPEND programs $<TARGET_FILE:unit-${name}>)
        endif()
    endforeach()
    weir_test(no_memory units prove bash "${test_dir}/no_memory/units.sh" $<TARGET_FILE:no_memory-fails> ${programs})
    set_tests_properties(no_memory/units PROPERTIES PROCESSORS 2)
    weir_test(no_memory self-test test bash "${test_dir}/no_memory/self_test.sh" $<TARGET_FILE:no_memory-fails>
        $<TARGET_FILE:no_memory-planted> "${WEIR_SANITIZE}")
    add_dependencies(tests-no_memory no_memory-fails tests-unit)
endif()

# ---- simulate: a fleet for hours, in minutes ----
set(module_parts call clock engine_api held hold lease module propagation question stamps store take texts
    throttle units)
list(TRANSFORM module_parts PREPEND "${PROJECT_SOURCE_DIR}/src/redis/module/")
weir_programs(simulate simulate USES serve engine hiredis NAMES fleet PARTS ${module_parts}
    WRAPS away_answer clock_gettime engine_lease_spend engine_leases_answer fcntl getrandom getsockopt
        micro_lease_take nodes_known owed_add poll pool_claim pool_set_primary ppoll recv redisConnectNonBlock redisFree
        send wire_lease)
weir_all_declared(simulate simulate)

# ---- stress: real threads ----
weir_programs(stress stress NAMES flood hold homes keyed kill latency lease lease_fork list log profile set_limit steps
    table take tenants turns wait wide)
weir_programs(stress stress NAMES stats USES serve)
weir_all_declared(stress stress)
get_property(names GLOBAL PROPERTY weir_declared_stress)
foreach(name IN LISTS names)
    set_tests_properties(stress/${name} PROPERTIES PROCESSORS 2)
endforeach()

# ---- model: a model checker; the very sources of share and core, over atomics that it steps through ----
file(GLOB_RECURSE checked CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/share/*.c" "${PROJECT_SOURCE_DIR}/src/core/*.c"
    "${PROJECT_SOURCE_DIR}/src/plan/*.c" "${PROJECT_SOURCE_DIR}/src/redis/micro/*.c"
    "${PROJECT_SOURCE_DIR}/src/redis/client/local/lease.c")
foreach(name IN ITEMS change error hold home latency open queue report sized stock take turns wait)
    list(APPEND checked "${PROJECT_SOURCE_DIR}/src/api/${name}.c")
endforeach()
file(GLOB checker CONFIGURE_DEPENDS "${test_dir}/model/*.c")
set(models ${checker})
list(FILTER checker EXCLUDE REGEX "/(self_test|[a-z]+_model)\\.c$")
list(FILTER models INCLUDE REGEX "/(self_test|[a-z]+_model)\\.c$")
add_library(weir_model_checked STATIC ${checked} ${checker})
# The shim comes first: its share/atomic.h takes the place of the real one.
target_include_directories(weir_model_checked PUBLIC test/model/shim src include test)
target_compile_definitions(weir_model_checked PUBLIC _GNU_SOURCE)
target_compile_options(weir_model_checked PUBLIC -UNDEBUG)
set_target_properties(weir_model_checked PROPERTIES ARCHIVE_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/inside")
foreach(source IN LISTS models)
    get_filename_component(name "${source}" NAME_WE)
    string(REGEX REPLACE "_model$" "" name "${name}")
    add_executable(model-${name} "${source}")
    target_link_libraries(model-${name} PRIVATE weir_model_checked Threads::Threads m)
    set_target_properties(model-${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/test")
    add_dependencies(tests-model model-${name})
    weir_test(model ${name} test model-${name})
    if(NOT name MATCHES "^(self_test|orders)$") # the same scenes with C11's memory orders
        weir_test(model ${name}-weak test model-${name})
        set_tests_properties(model/${name}-weak PROPERTIES ENVIRONMENT WEIR_MODEL_WEAK=1)
    endif()
endforeach()

weir_test(model loom prove bash "${test_dir}/loom/check.sh" "${PROJECT_BINARY_DIR}/loom")

# ---- vectors: what existing limiters answer; each folder with .json files is a test ----
weir_lacking(lacking json)
if(lacking)
    weir_skipped(vectors peers check "${lacking}")
else()
    file(GLOB sources CONFIGURE_DEPENDS "${test_dir}/vectors/*.c")
    weir_inside_program(vectors weir-vectors ${sources})
    target_link_libraries(weir-vectors PRIVATE peers PkgConfig::json_c)
    set_target_properties(weir-vectors PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}")
    weir_test(vectors peers check weir-vectors "${test_dir}/vectors/peers")
    if(Python3_Interpreter_FOUND)
        set(amalgamation "${PROJECT_BINARY_DIR}/amalgamation/weir.c")
        add_custom_command(
            OUTPUT "${amalgamation}"
            COMMAND "${PROJECT_SOURCE_DIR}/tools/amalgamation" "${PROJECT_BINARY_DIR}/amalgamation"
            DEPENDS ${weir_objects} "${PROJECT_SOURCE_DIR}/tools/amalgamation"
            COMMENT "Writing the amalgamation")
        weir_inside_program(vectors weir-vectors-amalgamation ${sources} "${amalgamation}")
        target_compile_definitions(weir-vectors-amalgamation PRIVATE "WEIR_LOCAL=") # the adapters look inside
        target_link_libraries(weir-vectors-amalgamation PRIVATE peers PkgConfig::json_c)
        weir_test(vectors amalgamation check weir-vectors-amalgamation "${test_dir}/vectors/peers")
    else()
        weir_skipped(vectors amalgamation check "python3")
    endif()
    weir_test(vectors back check weir-vectors "${test_dir}/vectors/back")
    weir_test(vectors slots check weir-vectors "${test_dir}/vectors/slots")
    weir_test(vectors judged check sh "${test_dir}/vectors/judged.sh" $<TARGET_FILE:weir-vectors>
        "${test_dir}/vectors/peers")
    weir_test(vectors self-test check sh "${test_dir}/vectors/self_test.sh" $<TARGET_FILE:weir-vectors>)
endif()

# ---- bindings: weir in other languages ----
if(NOT WEIR_SANITIZE)
    foreach(language IN ITEMS go node python rust)
        weir_test(bindings ${language} test bash "${test_dir}/bindings/run.sh" "${PROJECT_SOURCE_DIR}" ${language}
            quick)
        weir_test(bindings ${language}-all prove bash "${test_dir}/bindings/run.sh" "${PROJECT_SOURCE_DIR}" ${language}
            all)
        set_tests_properties(bindings/${language} bindings/${language}-all PROPERTIES PROCESSORS 2)
        list(APPEND built_by bindings/${language}-all)
        list(APPEND built_quick_by bindings/${language})
    endforeach()
    weir_test(bindings together prove bash "${test_dir}/bindings/together.sh" "${PROJECT_SOURCE_DIR}")
    set_tests_properties(bindings/together PROPERTIES DEPENDS "${built_by}")
    weir_test(bindings holders test bash "${test_dir}/bindings/holders.sh" "${PROJECT_SOURCE_DIR}")
    set_tests_properties(bindings/holders PROPERTIES DEPENDS "${built_quick_by}")
endif()

# ---- clock: the quick tests on a machine that seems to have been started 1 s ago, or 20 years ago ----
if(TARGET weir_cli AND NOT WEIR_SANITIZE) # a sanitizer wants to be the first library
    add_library(clock-uptime MODULE "${test_dir}/clock/uptime.c")
    target_compile_definitions(clock-uptime PRIVATE _GNU_SOURCE)
    target_link_libraries(clock-uptime PRIVATE Threads::Threads ${CMAKE_DL_LIBS})
    set_target_properties(clock-uptime PROPERTIES PREFIX "" C_VISIBILITY_PRESET default
        LIBRARY_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/test")
    weir_inside_program(clock clock-now "${test_dir}/clock/now.c")
    add_dependencies(tests-clock clock-uptime weir_cli tests-unit tests-property tests-vectors tests-example)
    foreach(end IN ITEMS young old)
        weir_test(clock ${end} test bash "${test_dir}/clock/ends.sh" "${PROJECT_BINARY_DIR}" ${end})
        set_tests_properties(clock/${end} PROPERTIES PROCESSORS 2)
    endforeach()
endif()

# ---- golden, serve, page, engine: the command as its users see it, with real clients, browsers and engines ----
if(TARGET weir_cli)
    weir_scripts(golden)
endif()
if(TARGET weir_cli AND TARGET weir_serve)
    weir_scripts(serve PROVE go)
elseif(TARGET weir_cli)
    weir_skipped(serve service test "${serve_lacks}")
endif()

# test/engine/NAME.c is a program engine-NAME for the scripts.
function(weir_engine_program name)
    weir_lacking(lacking ${ARGN})
    if(NOT lacking)
        weir_inside_program(engine engine-${name} "${test_dir}/engine/${name}.c")
        foreach(use IN LISTS ARGN)
            target_link_libraries(engine-${name} PRIVATE ${uses_${use}})
        endforeach()
    endif()
endfunction()
weir_engine_program(ask engine)
weir_engine_program(concurrent hiredis)
weir_engine_program(grants engine)
weir_engine_program(holders engine)
weir_engine_program(lua_micro hiredis)
weir_engine_program(lua_text hiredis)
weir_engine_program(module_micro hiredis)
weir_engine_program(tenants hiredis)
weir_engine_program(window)
target_sources(engine-window PRIVATE "${test_dir}/stress/windows.c")
# Preloaded into engines whose clock a test steps; an engine has no sanitizers.
add_library(engine-clock MODULE "${test_dir}/engine/clock/clock.c")
target_compile_definitions(engine-clock PRIVATE _GNU_SOURCE)
target_compile_options(engine-clock PRIVATE -fno-sanitize=all)
target_link_options(engine-clock PRIVATE -fno-sanitize=all)
set_target_properties(engine-clock PROPERTIES PREFIX "" C_VISIBILITY_PRESET default
    LIBRARY_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/test")
add_dependencies(tests-engine engine-clock)
if(TARGET weir_module)
    add_dependencies(tests-engine weir_module)
endif()
if(TARGET weir_cli)
    set(bounds bounds_away bounds_clients bounds_cluster bounds_failover bounds_restart)
    weir_scripts(engine PROVE ${bounds} ALONE ${bounds} faults)
endif()

# State that older versions left behind is in test/compat/VERSION.
if(TARGET weir_cli)
    weir_inside_program(compat compat-tables "${test_dir}/compat/tables.c")
    weir_inside_program(compat compat-damage "${test_dir}/compat/damage.c")
    foreach(part IN ITEMS weir_module engine-clock)
        if(TARGET ${part})
            add_dependencies(tests-compat ${part})
        endif()
    endforeach()
    weir_scripts(compat)
endif()

if(TARGET weir_cli AND WEIR_HAS_PAGE)
    weir_inside_program(page page-fixture "${test_dir}/page/fixture.c" src/cli/replay/page.c src/cli/common/json_file.c
        src/cli/common/arguments.c $<TARGET_OBJECTS:weir_page>)
    set(without "${PROJECT_BINARY_DIR}/page/without.c")
    weir_embed_replay("${without}" OFF)
    weir_inside_program(page page-without "${test_dir}/page/fixture.c" src/cli/replay/page.c src/cli/common/json_file.c
        src/cli/common/arguments.c "${without}")
    weir_test(page look test bash "${test_dir}/page/look.sh" $<TARGET_FILE:page-fixture>)
    weir_test(page write test bash "${test_dir}/page/write.sh" $<TARGET_FILE:page-fixture> $<TARGET_FILE:page-without>)
    if(TARGET weir_serve)
        weir_inside_program(page page-live "${test_dir}/page/live_fixture.c")
        target_link_libraries(page-live PRIVATE weir_serve)
        set(without "${PROJECT_BINARY_DIR}/page/live_without.c")
        weir_embed_live("${without}" OFF)
        weir_inside_program(page page-live-without "${test_dir}/page/live_fixture.c" "${without}")
        target_link_libraries(page-live-without PRIVATE weir_serve)
        weir_test(page live test bash "${test_dir}/page/live.sh" $<TARGET_FILE:page-live>
            $<TARGET_FILE:page-live-without>)
    endif()
elseif(TARGET weir_cli)
    weir_skipped(page look test "uPlot (tools/page gets it)")
endif()
weir_test(page fetch test bash "${test_dir}/page/fetch.sh" "${PROJECT_SOURCE_DIR}")

# ---- examples: against the library as its users have it ----
file(GLOB sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/examples/*.c")
foreach(source IN LISTS sources)
    get_filename_component(name "${source}" NAME_WE)
    add_executable(example-${name} "${source}")
    target_link_libraries(example-${name} PRIVATE weir::weir)
    set_target_properties(example-${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/examples")
    add_dependencies(tests-example example-${name})
    weir_test(example ${name} test example-${name})
endforeach()
# The load generator wants a server, so it is not where programs are that the tests of clocks start without one.
include(CheckSymbolExists)
set(CMAKE_REQUIRED_DEFINITIONS -D_GNU_SOURCE)
check_symbol_exists(epoll_pwait2 sys/epoll.h WEIR_HAS_EPOLL_PWAIT2)
unset(CMAKE_REQUIRED_DEFINITIONS)
if(HTTP_PARSER_LIBRARY AND WEIR_HAS_EPOLL_PWAIT2)
    add_executable(example-load "${PROJECT_SOURCE_DIR}/examples/load/load.c")
    target_include_directories(example-load PRIVATE "${HTTP_PARSER_INCLUDE}")
    target_link_libraries(example-load PRIVATE weir::weir "${HTTP_PARSER_LIBRARY}")
    set_target_properties(example-load PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/test")
    add_dependencies(tests-example example-load)
endif()
if(TARGET weir_cli)
    weir_test(example load test bash "${test_dir}/example/load.sh" $<TARGET_FILE:weir_cli>
        $<$<TARGET_EXISTS:example-load>:$<TARGET_FILE:example-load>>)
endif()

# ---- bench: run small, so that none of them rots ----
file(GLOB sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/bench/*.c")
foreach(source IN LISTS sources)
    get_filename_component(name "${source}" NAME_WE)
    if(name STREQUAL serve_calls AND NOT TARGET weir_serve)
        weir_skipped(bench ${name} test serve)
        continue()
    endif()
    weir_inside_program(bench bench-${name} "${source}")
    target_link_libraries(bench-${name} PRIVATE bench_harness)
    if(name STREQUAL serve_calls)
        target_link_libraries(bench-${name} PRIVATE weir_serve)
    endif()
    set_target_properties(bench-${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}")
    add_dependencies(bench-${name} weir_cli weir_bench) # bench/rate.c and the scripts run them
    weir_test(bench ${name} test bench-${name} --small)
endforeach()

# The library in the program that is optimized as a whole.
include(CheckIPOSupported)
check_ipo_supported(RESULT lto OUTPUT lto_output LANGUAGES C)
if(lto AND NOT WEIR_SANITIZE AND NOT WEIR_FUZZ)
    file(GLOB harness CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/bench/harness/*.c")
    set(sources "${PROJECT_SOURCE_DIR}/bench/take.c" ${harness})
    foreach(component IN LISTS weir_components)
        get_target_property(more ${component} SOURCES)
        list(APPEND sources ${more})
    endforeach()
    weir_inside_program(bench bench-take-inlined ${sources})
    target_compile_definitions(bench-take-inlined PRIVATE WEIR_INLINED)
    target_compile_options(bench-take-inlined PRIVATE ${weir_take_path_flags})
    set_target_properties(bench-take-inlined PROPERTIES INTERPROCEDURAL_OPTIMIZATION ON
        RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}")
    weir_test(bench take-inlined test bench-take-inlined --small)
elseif(NOT lto)
    weir_skipped(bench take-inlined test "link-time optimization")
endif()
weir_test(bench strictness-picture test sh -c
    "${PROJECT_BINARY_DIR}/bench-strictness --svg | cmp - ${PROJECT_SOURCE_DIR}/doc/strictness.svg")
weir_test(bench performance-page check sh -c "cp ${PROJECT_SOURCE_DIR}/doc/performance.md performance.md &&
    WEIR_PAGE=$PWD/performance.md ${PROJECT_SOURCE_DIR}/bench/report --fill &&
    diff ${PROJECT_SOURCE_DIR}/doc/performance.md performance.md")
weir_test(bench bindings-page check sh -c "cp ${PROJECT_SOURCE_DIR}/doc/bindings.md bindings.md &&
    WEIR_PAGE=$PWD/bindings.md ${PROJECT_SOURCE_DIR}/bench/bindings --fill &&
    diff ${PROJECT_SOURCE_DIR}/doc/bindings.md bindings.md")
weir_test(bench load-page check sh -c "cp ${PROJECT_SOURCE_DIR}/doc/load.md load.md &&
    WEIR_PAGE=$PWD/load.md ${PROJECT_SOURCE_DIR}/bench/load/run --fill &&
    diff ${PROJECT_SOURCE_DIR}/doc/load.md load.md")
weir_test(bench held-page check sh -c "cp ${PROJECT_SOURCE_DIR}/doc/concurrency.md concurrency.md &&
    WEIR_PAGE=$PWD/concurrency.md ${PROJECT_SOURCE_DIR}/bench/rivals/held/run --fill &&
    diff ${PROJECT_SOURCE_DIR}/doc/concurrency.md concurrency.md")
# What measures the service: a load client and the least that a server does.
weir_inside_program(bench bench-serve-client bench/serve/client.c bench/serve/tape.c bench/serve/reply.c)
weir_inside_program(bench bench-serve-bare bench/serve/bare.c bench/serve/answer.c)
weir_inside_program(bench bench-stall-load bench/stall/load.c)
foreach(target IN ITEMS bench-serve-client bench-stall-load)
    target_link_libraries(${target} PRIVATE bench_harness)
endforeach()

function(weir_bench_script name script) # [ALONE]
    weir_test(bench ${name} test
        env WEIR_SMALL=1 "WEIR_BUILD=${PROJECT_BINARY_DIR}" "${PROJECT_SOURCE_DIR}/bench/${script}")
    if("ALONE" IN_LIST ARGN)
        set_tests_properties(bench/${name} PROPERTIES PROCESSORS 2)
    endif()
endfunction()
weir_bench_script(stall stall/run ALONE)
if(TARGET engine-ask)
    weir_bench_script(held rivals/held/run)
endif()
if(TARGET weir_cli)
    weir_bench_script(pace pace)
    if(TARGET example-load)
        weir_bench_script(load load/run ALONE)
        weir_test(bench load-sessions test
            env "WEIR_BUILD=${PROJECT_BINARY_DIR}" "${PROJECT_SOURCE_DIR}/bench/load/sessions" --check)
    endif()
    weir_bench_script(replay replay)
    weir_bench_script(start start)
    if(NOT WEIR_SANITIZE) # it links with a plain compiler
        weir_bench_script(size size)
    endif()
    add_dependencies(bench-serve-client weir_cli) # bench/serve/run runs it
    weir_bench_script(fleet fleet/report)
    weir_bench_script(serve serve/run ALONE)
    weir_bench_script(attack serve/attack ALONE)
    weir_bench_script(stopped serve/stopped ALONE)
    weir_bench_script(threads serve/threads ALONE)
    if(WEIR_HAS_TLS)
        weir_bench_script(tls serve/tls ALONE)
    endif()
    weir_bench_script(gate serve/gate ALONE)
    weir_test(bench soak-rules check "${PROJECT_SOURCE_DIR}/bench/serve/soak" --self-check)
    if(TARGET weir_serve AND NOT WEIR_SANITIZE) # a sanitizer wants to be the first library
        add_library(soak-leak MODULE "${test_dir}/soak/leak.c")
        target_compile_definitions(soak-leak PRIVATE _GNU_SOURCE)
        target_link_libraries(soak-leak PRIVATE Threads::Threads)
        set_target_properties(soak-leak PROPERTIES PREFIX "" LIBRARY_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/test")
        add_dependencies(tests-bench soak-leak)
        weir_test(bench soak prove
            env "WEIR_BUILD=${PROJECT_BINARY_DIR}" bash "${test_dir}/soak/found.sh" $<TARGET_FILE:soak-leak>)
    endif()
endif()
if(TARGET weir_module)
    add_dependencies(bench-serve-client weir_module) # bench/engine/run loads it
    weir_bench_script(engine engine/run ALONE)
    weir_bench_script(bytes engine/bytes)
    weir_bench_script(engine-attack engine/attack)
    if(TARGET engine-grants)
        weir_bench_script(hot engine/hot ALONE)
    endif()
endif()

# ---- tidy and install: sanitizers add symbols of their own, so only plain builds are looked at ----
if(WEIR_SANITIZE)
    return()
endif()
set(tidy "${test_dir}/tidy")
weir_test(tidy includes check bash "${tidy}/includes.sh" "${PROJECT_SOURCE_DIR}")
weir_test(tidy names check bash "${tidy}/names.sh" "${PROJECT_SOURCE_DIR}" "${PROJECT_BINARY_DIR}" "${CMAKE_NM}")
weir_test(tidy style check bash "${tidy}/style.sh" "${PROJECT_SOURCE_DIR}")
weir_test(tidy rows check bash "${tidy}/rows.sh" "${PROJECT_SOURCE_DIR}")
weir_test(tidy orders check bash "${tidy}/orders.sh" "${PROJECT_SOURCE_DIR}")
set(tests_of "${PROJECT_BINARY_DIR}")
if(NOT TARGET weir_redis_shared OR NOT TARGET weir_serve) # the tests of the engine or the service are not here
    set(tests_of -)
endif()
weir_test(tidy pages check bash "${tidy}/pages.sh" "${PROJECT_SOURCE_DIR}" "${tests_of}")
weir_test(tidy header test bash "${tidy}/header.sh" "${PROJECT_SOURCE_DIR}" "${CMAKE_C_COMPILER}")
weir_test(tidy amalgamation check bash "${tidy}/amalgamation.sh" "${PROJECT_SOURCE_DIR}" "${CMAKE_C_COMPILER}"
    "${CMAKE_NM}" ${weir_warnings})
weir_test(tidy abi prove bash "${tidy}/abi.sh" "${PROJECT_SOURCE_DIR}" "${CMAKE_C_COMPILER}")
weir_test(tidy mutate test bash "${tidy}/mutate.sh" "${PROJECT_SOURCE_DIR}")
weir_test(tidy self-check check bash "${tidy}/self_check.sh" "${CMAKE_C_COMPILER}" "${CMAKE_NM}")
if(WEIR_HARDEN AND CMAKE_SYSTEM_NAME STREQUAL "Linux" AND NOT CMAKE_BUILD_TYPE STREQUAL "Debug")
    set(hardened "")
    foreach(target IN ITEMS weir_cli weir_whole weir_bench weir_shared weir_redis_shared weir_module)
        if(TARGET ${target})
            list(APPEND hardened $<TARGET_FILE:${target}>)
            add_dependencies(tests-tidy ${target})
        endif()
    endforeach()
    weir_test(tidy hardened check bash "${tidy}/hardened.sh" ${hardened})
endif()
set(inner "")
foreach(component IN ITEMS core plan share)
    set(below ${inner}) # what this component may use: those under it
    list(APPEND inner $<TARGET_OBJECTS:weir_${component}>)
    weir_test(tidy purity-${component} check bash "${tidy}/purity.sh" "${CMAKE_NM}" $<TARGET_OBJECTS:weir_${component}>
        -- ${below})
endforeach()
if(WEIR_SHARED)
    set(headers "${PROJECT_SOURCE_DIR}/include/weir")
    set(debian "${PROJECT_SOURCE_DIR}/packaging/debian")
    weir_test(tidy symbols check bash "${tidy}/symbols.sh" "${headers}/weir.h" "${map}"
        "${debian}/libweir${weir_abi}.symbols" "${CMAKE_NM}" $<TARGET_FILE:weir_static> $<TARGET_FILE:weir_shared>)
    add_dependencies(tests-tidy ${weir_libraries})
    if(WEIR_HAS_ENGINE)
        weir_test(tidy symbols-redis check bash "${tidy}/symbols.sh" "${headers}/redis.h" "${redis_map}"
            "${debian}/libweir-redis${weir_abi}.symbols" "${CMAKE_NM}" $<TARGET_FILE:weir_redis_static>
            $<TARGET_FILE:weir_redis_shared>)
        add_dependencies(tests-tidy ${weir_redis_libraries})
    endif()
    weir_test(install consumer test bash "${test_dir}/install/run.sh" "${PROJECT_BINARY_DIR}" "${CMAKE_COMMAND}"
        "${CMAKE_C_COMPILER}")
    add_dependencies(tests-install product)
    weir_test(install deb prove bash "${test_dir}/install/deb.sh" "${PROJECT_SOURCE_DIR}")
    weir_test(install image prove bash "${test_dir}/install/image.sh" "${PROJECT_BINARY_DIR}" "${PROJECT_SOURCE_DIR}")
    weir_test(install without test bash "${test_dir}/install/without.sh" "${PROJECT_SOURCE_DIR}" "${CMAKE_COMMAND}"
        "${CMAKE_C_COMPILER}")
endif()
