# Samples and documentation, run as a user runs them.
tempo_test(samples tempo_driver tempo_emulation)
if(TARGET test_samples AND TARGET tempo)
  target_compile_definitions(test_samples PRIVATE TEMPO_COMMAND="$<TARGET_FILE:tempo>")
  add_dependencies(test_samples tempo)
endif()

# The expected values themselves, where there is a NumPy to recompute them.
find_package(Python3 COMPONENTS Interpreter QUIET)
if(Python3_FOUND)
  execute_process(COMMAND ${Python3_EXECUTABLE} -c "import numpy" RESULT_VARIABLE NO_NUMPY OUTPUT_QUIET ERROR_QUIET)
  if(NO_NUMPY EQUAL 0)
    add_test(NAME reference_is_current
             COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_SOURCE_DIR}/reference/generate.py --check
                     ${CMAKE_CURRENT_SOURCE_DIR}/reference/expected)
  endif()
endif()
