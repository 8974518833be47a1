# Plans executed by examples/torch; skipped with a message where Python has no torch.
find_program(LCP_PYTHON NAMES python3)
find_program(LCP_SYSTEM_PYTHON NAMES python3 PATHS /usr/bin NO_DEFAULT_PATH)
set(torch_python "")
foreach(python ${LCP_PYTHON} ${LCP_SYSTEM_PYTHON})
  execute_process(COMMAND ${python} -c "import importlib.util, sys; sys.exit(importlib.util.find_spec('torch') is None)"
                  RESULT_VARIABLE without_torch ERROR_QUIET)
  if(without_torch EQUAL 0 AND torch_python STREQUAL "")
    set(torch_python ${python})
  endif()
endforeach()
if(torch_python STREQUAL "")
  set(torch_python ${LCP_PYTHON})
endif()
set(LCP_TORCH_PYTHON "${torch_python}" CACHE FILEPATH "Python that runs examples/torch")

if(LCP_TORCH_PYTHON)
  set(torch_source ${PROJECT_SOURCE_DIR}/examples/torch)
  set(torch_work ${CMAKE_BINARY_DIR}/torch)
  file(MAKE_DIRECTORY ${torch_work})
  add_test(NAME torch_plans COMMAND ${LCP_TORCH_PYTHON} ${torch_source}/check_plans.py $<TARGET_FILE:lcplan>)
  add_test(NAME torch_mutations COMMAND ${LCP_TORCH_PYTHON} ${CMAKE_CURRENT_LIST_DIR}/test_mutations.py ${torch_source}
                                        $<TARGET_FILE:lcplan>)
  add_test(NAME torch_plans_long COMMAND ${LCP_TORCH_PYTHON} ${torch_source}/check_plans.py $<TARGET_FILE:lcplan> --long)
  set_tests_properties(torch_plans PROPERTIES LABELS torch TIMEOUT 300)
  set_tests_properties(torch_plans_long torch_mutations PROPERTIES LABELS "torch-long;slow" TIMEOUT 1800)
  set(torch_tests torch_plans torch_mutations torch_plans_long)
  if(NOT LCP_SANITIZE)
    set(inputs ${torch_source}/inputs)
    add_test(NAME torch_base COMMAND lcplan plan --quiet --model ${inputs}/model.json --cluster ${inputs}/cluster.json --workload
                                     ${inputs}/short.json --precision fp32 --zero 1 --min-slice-tokens 128 --dp 2 --pp 2 -o
                                     ${torch_work}/base.json)
    add_test(NAME torch_stream COMMAND ${LCP_TORCH_PYTHON} ${torch_source}/train_stream.py ${torch_work}/base.json --batches 3
                                       --check)
    set_tests_properties(torch_base PROPERTIES FIXTURES_SETUP torch_base LABELS "torch-long;slow")
    set_tests_properties(
      torch_stream PROPERTIES FIXTURES_REQUIRED torch_base LABELS "torch-long;slow" TIMEOUT 300 ENVIRONMENT
                              "PYTHONPATH=${PROJECT_SOURCE_DIR}/python;LCPLAN_LIBRARY=$<TARGET_FILE:lcp_shared>")
    list(APPEND torch_tests torch_stream)
  endif()
  set_property(TEST ${torch_tests} APPEND PROPERTY ENVIRONMENT "PYTHONDONTWRITEBYTECODE=1")
  set_property(TEST ${torch_tests} PROPERTY SKIP_RETURN_CODE 77)
  set_property(TEST ${torch_tests} PROPERTY RUN_SERIAL TRUE)
endif()
