# find_package(thunder_$robot): the target thunder_$robot, of this generated folder or of what its CMakeLists.txt installed.
include("$${CMAKE_CURRENT_LIST_DIR}/eigen.cmake")
if(NOT Eigen3_FOUND)
  set(thunder_${robot}_FOUND FALSE)
  set(thunder_${robot}_NOT_FOUND_MESSAGE "$${eigen_missing}")
  return()
endif()

if(EXISTS "$${CMAKE_CURRENT_LIST_DIR}/thunder_${robot}Targets.cmake")
  include("$${CMAKE_CURRENT_LIST_DIR}/thunder_${robot}Targets.cmake")
elseif(NOT TARGET thunder_$robot)
  add_library(thunder_$robot SHARED IMPORTED)
  set_target_properties(thunder_$robot PROPERTIES
    IMPORTED_LOCATION "$${CMAKE_CURRENT_LIST_DIR}/lib$robot.so"
    IMPORTED_NO_SONAME TRUE
    INTERFACE_INCLUDE_DIRECTORIES "$${CMAKE_CURRENT_LIST_DIR}"
    INTERFACE_COMPILE_FEATURES cxx_std_17
    INTERFACE_COMPILE_OPTIONS "$processor" # as the library, whose processor Eigen's alignment depends on
    INTERFACE_LINK_LIBRARIES Eigen3::Eigen)
endif()
