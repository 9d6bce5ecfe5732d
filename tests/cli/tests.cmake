# The command as a user runs it.
tempo_test(cli tempo_jit)
if(TARGET test_cli)
  add_dependencies(test_cli tempo)
endif()

# The tests in the comments of the standard library.
file(GLOB_RECURSE LIBRARY CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/stdlib/*.tempo)
foreach(module ${LIBRARY})
  file(STRINGS ${PROJECT_SOURCE_DIR}/${module} directives REGEX "^## (test|error|compiles|peak_mem)")
  if(directives)
    add_test(NAME ${module} COMMAND tempo test ${PROJECT_SOURCE_DIR}/${module})
  endif()
endforeach()
