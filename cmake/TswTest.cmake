# Debian's cmocka package sets variables only; make it a target.
find_path(CMOCKA_INCLUDE_DIR cmocka.h)
find_library(CMOCKA_LIBRARY NAMES cmocka)
if(CMOCKA_INCLUDE_DIR AND CMOCKA_LIBRARY)
  add_library(tsw_dep_cmocka INTERFACE)
  add_library(tsw::dep_cmocka ALIAS tsw_dep_cmocka)
  target_include_directories(tsw_dep_cmocka SYSTEM INTERFACE ${CMOCKA_INCLUDE_DIR})
  target_link_libraries(tsw_dep_cmocka INTERFACE ${CMOCKA_LIBRARY})
else()
  message(STATUS "cmocka not found: unit and mpi tests are left out (GPU hosts)")
endif()

# tsw_unit_test(MODULE TOPIC [LINK target..] [SOURCES file..] [TIMEOUT seconds] [ENV VAR=value..])
#   builds test_MODULE_TOPIC.c as a cmocka program and registers it as unit.MODULE.TOPIC
function(tsw_unit_test module topic)
  cmake_parse_arguments(arg "" "TIMEOUT" "LINK;SOURCES;ENV" ${ARGN})
  if(NOT TARGET tsw::dep_cmocka)
    return()
  endif()
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 300)
  endif()
  set(target test_${module}_${topic})
  add_executable(${target} ${target}.c ${arg_SOURCES})
  target_link_libraries(${target} PRIVATE tsw_warnings tsw::${module} ${arg_LINK} tsw::dep_cmocka)
  target_include_directories(${target} PRIVATE "${CMAKE_SOURCE_DIR}/tests/support")
  target_compile_definitions(${target} PRIVATE TSW_SOURCE_DIR="${CMAKE_SOURCE_DIR}"
                             TSW_BINARY_DIR="${CMAKE_BINARY_DIR}")
  set_target_properties(${target} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/tests")
  add_test(NAME unit.${module}.${topic} COMMAND ${target})
  set_tests_properties(unit.${module}.${topic} PROPERTIES LABELS unit TIMEOUT ${arg_TIMEOUT}
                       ENVIRONMENT "${arg_ENV}")
endfunction()

# As root mpirun refuses, and more ranks than cores fail, unless told otherwise.
set(TSW_MPI_ENV
    OMPI_ALLOW_RUN_AS_ROOT=1
    OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
    OMPI_MCA_rmaps_base_oversubscribe=1
    OMPI_MCA_hwloc_base_binding_policy=none
    OMPI_MCA_btl_vader_single_copy_mechanism=none)

# tsw_mpi_test(TOPIC NP [ARGS arg..] [TIMEOUT seconds]) for the program test_mpi_TOPIC, made by
# tsw_mpi_program(TOPIC [LINK target..]).
function(tsw_mpi_program topic)
  cmake_parse_arguments(arg "" "" "LINK;SOURCES" ${ARGN})
  set(target test_mpi_${topic})
  add_executable(${target} ${target}.c ${arg_SOURCES})
  target_link_libraries(${target} PRIVATE tsw_warnings ${arg_LINK} tsw::dep_cmocka)
  target_include_directories(${target} PRIVATE "${CMAKE_SOURCE_DIR}/tests/support")
  target_compile_definitions(${target} PRIVATE TSW_SOURCE_DIR="${CMAKE_SOURCE_DIR}"
                             TSW_BINARY_DIR="${CMAKE_BINARY_DIR}")
  set_target_properties(${target} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/tests")
endfunction()

function(tsw_mpi_test topic np)
  cmake_parse_arguments(arg "" "TIMEOUT" "ARGS" ${ARGN})
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 300)
  endif()
  set(name mpi.${topic}.np${np})
  add_test(NAME ${name} COMMAND ${MPIEXEC_EXECUTABLE} ${MPIEXEC_NUMPROC_FLAG} ${np}
           $<TARGET_FILE:test_mpi_${topic}> ${arg_ARGS})
  set_tests_properties(${name} PROPERTIES LABELS mpi TIMEOUT ${arg_TIMEOUT} PROCESSORS ${np}
                       RESOURCE_LOCK mpi ENVIRONMENT "${TSW_MPI_ENV}")
endfunction()
