# Habits, and documents that must say what the program does.
set(lint ${CMAKE_CURRENT_LIST_DIR})
set(lint_work ${CMAKE_BINARY_DIR}/lint)
file(MAKE_DIRECTORY ${lint_work})
add_test(NAME lint_sources COMMAND sh ${lint}/sources.sh ${PROJECT_SOURCE_DIR})
add_test(NAME lint_tables COMMAND sh ${lint}/tables.sh $<TARGET_FILE:lcplan> ${PROJECT_SOURCE_DIR} ${lint_work})
add_test(NAME lint_man COMMAND sh ${lint}/man.sh $<TARGET_FILE:lcplan> ${PROJECT_SOURCE_DIR}
         WORKING_DIRECTORY ${lint_work})
add_test(NAME lint_readme COMMAND sh ${lint}/readme.sh $<TARGET_FILE:lcplan> ${PROJECT_SOURCE_DIR}
                                  ${CMAKE_BINARY_DIR}/readme)
set_tests_properties(lint_sources lint_tables lint_man PROPERTIES LABELS lint)
set_tests_properties(lint_readme PROPERTIES LABELS readme TIMEOUT 300)
