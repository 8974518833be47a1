# Documents against docs/schema/ with a library made for it; skipped where Python or the library is missing.
find_program(LCP_PYTHON NAMES python3)
if(LCP_PYTHON)
  set(schemas ${PROJECT_SOURCE_DIR}/docs/schema)
  set(validate ${LCP_PYTHON} ${CMAKE_CURRENT_LIST_DIR}/validate.py ${schemas})
  foreach(kind cluster workload)
    file(GLOB documents CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/examples/${kind}s/*.json)
    add_test(NAME schema_${kind} COMMAND ${validate} ${kind} ${documents})
  endforeach()
  add_test(NAME schema_plan
           COMMAND sh ${CMAKE_CURRENT_LIST_DIR}/plans.sh $<TARGET_FILE:lcplan> ${PROJECT_SOURCE_DIR}
                   ${CMAKE_BINARY_DIR}/schema ${validate})
  add_test(NAME schema_profile
           COMMAND sh ${CMAKE_CURRENT_LIST_DIR}/profiles.sh $<TARGET_FILE:lcplan> ${PROJECT_SOURCE_DIR}
                   ${CMAKE_BINARY_DIR}/schema_profile ${validate})
  set_tests_properties(schema_cluster schema_workload schema_plan schema_profile PROPERTIES LABELS schema SKIP_RETURN_CODE 77
                                                                             TIMEOUT 300)
endif()
