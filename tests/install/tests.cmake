# A staged install in the build tree, used through find_package and through pkg-config.
set(stage ${CMAKE_BINARY_DIR}/stage)
set(consumer_inputs ${PROJECT_SOURCE_DIR}/examples/models/llama-3.2-1b.json h100-sxm:1x2
                    ${CMAKE_CURRENT_LIST_DIR}/workload.json)
set(sanitizer_flags "")
if(LCP_SANITIZE)
  set(sanitizer_flags -fsanitize=${LCP_SANITIZE})
endif()

add_test(NAME install_stage COMMAND ${CMAKE_COMMAND} --install ${CMAKE_BINARY_DIR} --prefix ${stage})
set_tests_properties(install_stage PROPERTIES FIXTURES_SETUP stage LABELS install)

add_test(NAME install_find_package
         COMMAND ${CMAKE_CTEST_COMMAND} --build-and-test ${CMAKE_CURRENT_LIST_DIR} ${CMAKE_BINARY_DIR}/consumer
                 --build-generator ${CMAKE_GENERATOR} --build-options -DCMAKE_PREFIX_PATH=${stage}
                 -DCMAKE_C_COMPILER=${CMAKE_C_COMPILER} -DCMAKE_C_FLAGS=${sanitizer_flags}
                 --test-command consumer ${consumer_inputs} ${CMAKE_BINARY_DIR}/consumer/plan.json)
add_test(NAME install_pkg_config
         COMMAND sh ${CMAKE_CURRENT_LIST_DIR}/pkg_config.sh ${stage}/${CMAKE_INSTALL_LIBDIR}/pkgconfig
                 ${CMAKE_BINARY_DIR}/consumer_pkg_config ${CMAKE_C_COMPILER} ${sanitizer_flags} -- ${consumer_inputs})
add_test(NAME install_program COMMAND ${stage}/${CMAKE_INSTALL_BINDIR}/lcplan --version)
set_tests_properties(install_program PROPERTIES PASS_REGULAR_EXPRESSION "^lcplan ${PROJECT_VERSION}\n$")
find_program(LCP_PYTHON NAMES python3)
if(LCP_PYTHON AND NOT LCP_SANITIZE) # a sanitized library cannot be loaded into an interpreter that is not
  add_test(NAME install_python COMMAND ${LCP_PYTHON} -c "import lcplan.stream; lcplan.stream._load(None)")
  set_tests_properties(
    install_python
    PROPERTIES
      FIXTURES_REQUIRED stage LABELS install ENVIRONMENT
      "PYTHONPATH=${stage}/${CMAKE_INSTALL_DATADIR}/lcplan/python;LCPLAN_LIBRARY=${stage}/${CMAKE_INSTALL_LIBDIR}/liblcplan.so")
endif()
set_tests_properties(install_find_package install_pkg_config install_program
                     PROPERTIES FIXTURES_REQUIRED stage LABELS install TIMEOUT 300)
