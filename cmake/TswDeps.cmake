# Third-party libraries as imported targets tsw::dep_<name>. Each is linked PRIVATE by the one module
# that owns it (docs/architecture.md), so no vendor type can leak into another module.
find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)

# A target for a pkg-config package; prefers the static archive so that one binary runs on hosts
# that lack the library.
function(tsw_pkg_dep name package archive)
  pkg_check_modules(${name} REQUIRED ${package})
  add_library(tsw_dep_${name} INTERFACE)
  add_library(tsw::dep_${name} ALIAS tsw_dep_${name})
  target_include_directories(tsw_dep_${name} SYSTEM INTERFACE ${${name}_INCLUDE_DIRS})
  find_library(${name}_ARCHIVE NAMES ${archive} HINTS ${${name}_LIBRARY_DIRS})
  if(TSW_STATIC_DEPS AND ${name}_ARCHIVE)
    target_link_libraries(tsw_dep_${name} INTERFACE "${${name}_ARCHIVE}" Threads::Threads
                          ${CMAKE_DL_LIBS} m)
  else()
    target_link_directories(tsw_dep_${name} INTERFACE ${${name}_LIBRARY_DIRS})
    target_link_libraries(tsw_dep_${name} INTERFACE ${${name}_LIBRARIES})
  endif()
endfunction()

tsw_pkg_dep(uv libuv libuv_a.a)
tsw_pkg_dep(lua lua5.4 liblua5.4.a)
tsw_pkg_dep(yaml yaml-0.1 libyaml.a)
tsw_pkg_dep(jansson jansson libjansson.a)

find_path(XXHASH_INCLUDE_DIR xxhash.h REQUIRED)
add_library(tsw_dep_xxhash INTERFACE)
add_library(tsw::dep_xxhash ALIAS tsw_dep_xxhash)
target_include_directories(tsw_dep_xxhash SYSTEM INTERFACE ${XXHASH_INCLUDE_DIR})

find_package(HDF5 REQUIRED COMPONENTS C)
add_library(tsw_dep_hdf5 INTERFACE)
add_library(tsw::dep_hdf5 ALIAS tsw_dep_hdf5)
target_include_directories(tsw_dep_hdf5 SYSTEM INTERFACE ${HDF5_C_INCLUDE_DIRS})
target_link_libraries(tsw_dep_hdf5 INTERFACE ${HDF5_C_LIBRARIES})

if(TSW_WITH_MPI)
  find_package(MPI REQUIRED COMPONENTS C)
endif()
