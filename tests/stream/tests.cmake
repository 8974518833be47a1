# A base plan, and the stream under it through C, the command line and Python.
set(stream_here ${CMAKE_CURRENT_LIST_DIR})
set(stream_work ${CMAKE_BINARY_DIR}/stream)
file(MAKE_DIRECTORY ${stream_work})
add_test(NAME stream_base
         COMMAND lcplan plan --quiet --model ${PROJECT_SOURCE_DIR}/examples/models/llama-3.2-1b.json --cluster a100-40:1x8
                 --workload ${stream_here}/workload.json --dp 2 --pp 4 -o ${stream_work}/base.json)
add_test(NAME stream_uniform_base
         COMMAND lcplan plan --quiet --model ${PROJECT_SOURCE_DIR}/examples/models/llama-3.2-1b.json --cluster a100-40:1x8
                 --workload ${stream_here}/workload.json --dp 2 --pp 4 --uniform-recompute -o ${stream_work}/uniform.json)
add_executable(test_stream ${stream_here}/test_stream.c)
target_link_libraries(test_stream PRIVATE lcp_test_support lcp_flags lcp PkgConfig::JANSSON)
add_test(NAME stream_batches COMMAND test_stream ${stream_work}/base.json)
add_test(NAME stream_lines
         COMMAND sh ${stream_here}/lines.sh $<TARGET_FILE:lcplan> ${stream_work}/base.json ${stream_work}/uniform.json
                 ${stream_work}/lines)
set_tests_properties(stream_base stream_uniform_base PROPERTIES FIXTURES_SETUP stream_base LABELS stream TIMEOUT 300)
set_tests_properties(stream_batches stream_lines PROPERTIES FIXTURES_REQUIRED stream_base LABELS stream TIMEOUT 300)

find_program(LCP_PYTHON NAMES python3)
if(LCP_PYTHON AND NOT LCP_SANITIZE) # a sanitized library cannot be loaded into an interpreter that is not
  add_test(NAME stream_python
           COMMAND ${LCP_PYTHON} ${stream_here}/test_module.py $<TARGET_FILE:lcp_shared> $<TARGET_FILE:lcplan>
                   ${stream_work}/base.json)
  set_tests_properties(stream_python PROPERTIES FIXTURES_REQUIRED stream_base LABELS stream TIMEOUT 300
                       ENVIRONMENT "PYTHONPATH=${PROJECT_SOURCE_DIR}/python;PYTHONDONTWRITEBYTECODE=1")
endif()

# Latency, growth of memory and the ratio to one static chunking; not a test, since its times depend on the machine.
add_executable(bench_stream EXCLUDE_FROM_ALL ${stream_here}/bench_stream.c ${stream_here}/static_chunks.c)
target_link_libraries(bench_stream PRIVATE lcp lcp_flags PkgConfig::JANSSON m)
target_include_directories(bench_stream PRIVATE ${PROJECT_SOURCE_DIR}/planner)
target_compile_definitions(bench_stream PRIVATE _POSIX_C_SOURCE=200809L)
