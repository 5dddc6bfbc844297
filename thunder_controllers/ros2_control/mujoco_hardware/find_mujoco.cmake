# SPDX-License-Identifier: Apache-2.0
#
# MuJoCo's C library as target mujoco::mujoco: an installation with a CMake package, else the wheel of the interpreter,
# which carries headers and library. MUJOCO_LIBRARY_FOLDER is where the library lies, for the run-time path.
find_package(mujoco QUIET)
if(TARGET mujoco::mujoco)
  return()
endif()

if(NOT Python3_EXECUTABLE)
  find_package(Python3 QUIET COMPONENTS Interpreter)
endif()
set(locate "import importlib.util as u; print(u.find_spec('mujoco').submodule_search_locations[0])")
execute_process(COMMAND "${Python3_EXECUTABLE}" -c "${locate}"
  OUTPUT_VARIABLE wheel OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE status)
if(NOT status EQUAL 0)
  return()
endif()

file(GLOB libraries "${wheel}/libmujoco.so.*")
if(NOT libraries OR NOT EXISTS "${wheel}/include/mujoco/mujoco.h")
  return()
endif()
list(GET libraries 0 library)
set(MUJOCO_LIBRARY_FOLDER "${wheel}")
add_library(mujoco::mujoco SHARED IMPORTED)
set_target_properties(mujoco::mujoco PROPERTIES
  IMPORTED_LOCATION "${library}"
  INTERFACE_INCLUDE_DIRECTORIES "${wheel}/include")
