# The program as its users meet it: exit statuses, messages, files.
foreach(name usage inputs plans estimate simulate interrupt stall exports)
  add_test(NAME cli_${name} COMMAND sh ${CMAKE_CURRENT_LIST_DIR}/${name}.sh $<TARGET_FILE:lcplan> ${PROJECT_SOURCE_DIR}
                                    ${CMAKE_BINARY_DIR}/cli_${name})
  set_tests_properties(cli_${name} PROPERTIES LABELS cli TIMEOUT 300)
endforeach()
