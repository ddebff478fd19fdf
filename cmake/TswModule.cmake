# One static library per folder of src/, one cmocka program per file of tests/.
add_library(tsw_warnings INTERFACE)
target_compile_options(tsw_warnings INTERFACE
  -Wall -Wextra -Wshadow -Wconversion -Wstrict-prototypes -Wmissing-prototypes -Wvla -Wcast-qual
  -Wformat=2 -Wundef)
target_compile_definitions(tsw_warnings INTERFACE _POSIX_C_SOURCE=200809L)
if(TSW_SANITIZE)
  target_compile_options(tsw_warnings INTERFACE -fsanitize=${TSW_SANITIZE} -fno-omit-frame-pointer
                         -fno-sanitize-recover=all)
  target_link_options(tsw_warnings INTERFACE -fsanitize=${TSW_SANITIZE})
endif()
if(TSW_FUZZ)
  target_compile_options(tsw_warnings INTERFACE -fsanitize=fuzzer-no-link)
endif()

# tsw_module(NAME SOURCES file.. [USES module..] [VENDOR target..])
#   USES   modules that this one may include (public, as headers refer to each other)
#   VENDOR third-party targets, private to the module
function(tsw_module name)
  cmake_parse_arguments(arg "" "" "SOURCES;USES;VENDOR" ${ARGN})
  add_library(tsw_${name} STATIC ${arg_SOURCES})
  add_library(tsw::${name} ALIAS tsw_${name})
  target_include_directories(tsw_${name} PUBLIC "${CMAKE_SOURCE_DIR}/src"
                             PRIVATE "${CMAKE_BINARY_DIR}/generated")
  target_link_libraries(tsw_${name} PRIVATE tsw_warnings)
  foreach(used IN LISTS arg_USES)
    target_link_libraries(tsw_${name} PUBLIC tsw::${used})
  endforeach()
  target_link_libraries(tsw_${name} PRIVATE ${arg_VENDOR})
endfunction()
