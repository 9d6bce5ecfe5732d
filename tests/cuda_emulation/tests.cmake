# The emulator is a library of its own: the tests of jit/cuda and the differential tests both use it.
file(GLOB EMULATION_SOURCES CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/*.cpp)
add_library(tempo_emulation STATIC ${EMULATION_SOURCES})
target_include_directories(tempo_emulation PUBLIC ${CMAKE_CURRENT_SOURCE_DIR})
target_compile_definitions(tempo_emulation PRIVATE TEMPO_BINARY_DIR="${PROJECT_BINARY_DIR}"
                                                   TEMPO_EMULATION_CXX="${CMAKE_CXX_COMPILER}")
target_link_libraries(tempo_emulation PUBLIC tempo_jit ${CMAKE_DL_LIBS})

# Stands in for libcuda.so.1.
add_library(tempo_fake_cuda SHARED ${CMAKE_CURRENT_LIST_DIR}/fake_driver/fake_driver.cpp)
set_target_properties(tempo_fake_cuda PROPERTIES PREFIX "lib" OUTPUT_NAME "fake_cuda")

foreach(test test_cuda test_driver)
  if(TARGET ${test})
    target_link_libraries(${test} PRIVATE tempo_emulation)
    target_compile_definitions(${test} PRIVATE TEMPO_FAKE_CUDA="$<TARGET_FILE:tempo_fake_cuda>")
    add_dependencies(${test} tempo_fake_cuda)
  endif()
endforeach()

# Compares a GPU with the emulator; see bench/gpu_check. Here without one it must say so.
add_executable(check_kernels ${PROJECT_SOURCE_DIR}/bench/gpu_check/check_kernels.cpp)
target_include_directories(check_kernels PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
target_link_libraries(check_kernels PRIVATE tempo_emulation)
# A device that does nothing must be found out.
add_test(NAME gpu_kernels_can_fail COMMAND check_kernels)
set_tests_properties(gpu_kernels_can_fail PROPERTIES WILL_FAIL ON ENVIRONMENT "TEMPO_CUDA_DRIVER=$<TARGET_FILE:tempo_fake_cuda>")
add_dependencies(check_kernels tempo_fake_cuda)
