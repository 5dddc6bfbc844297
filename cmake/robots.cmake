# thunder_add_robot(FILE): generate and compile one robot at build time, and install it.
#
# <prefix>/lib holds lib<robot>.so, <prefix>/share/thunder_controllers/robots the generated folder, which
# find_package(thunder_<robot>) finds through <prefix>/share/thunder_<robot>/cmake. The generator node runs
# with --once from the source tree, or `thunder gen` where there is no rclpy; both write the same library. The metadata
# folder lets them find laws by their entry points before anything is installed.

set(thunder_generator_modules casadi click lxml numpy platformdirs pydantic xacro yaml)

function(thunder_check_generator)
  set(missing "") # a function sees the variables of its caller
  foreach(module IN LISTS thunder_generator_modules)
    execute_process(COMMAND ${Python3_EXECUTABLE} -c "import ${module}" RESULT_VARIABLE failed OUTPUT_QUIET ERROR_QUIET)
    if(failed)
      list(APPEND missing ${module})
    endif()
  endforeach()
  if(missing)
    list(JOIN missing ", " missing)
    message(FATAL_ERROR
      "Compiling robots needs these Python modules, which ${Python3_EXECUTABLE} lacks: ${missing}. "
      "Install them for it, choose another interpreter with -DPython3_EXECUTABLE=..., "
      "or compile no robot with -DTHUNDER_ROBOTS=")
  endif()
endfunction()

# The node needs nothing of the network: with discovery off, nobody sees that a build has one.
function(thunder_generator_command result path robot folder)
  set(search_path ${PROJECT_SOURCE_DIR}:${metadata_folder})
  if(DEFINED ENV{PYTHONPATH} AND NOT "$ENV{PYTHONPATH}" STREQUAL "")
    string(APPEND search_path ":$ENV{PYTHONPATH}")
  endif()
  set(command ${CMAKE_COMMAND} -E env PYTHONPATH=${search_path} ROS_AUTOMATIC_DISCOVERY_RANGE=OFF ${Python3_EXECUTABLE} -m)
  if(THUNDER_HAS_RCLPY)
    list(JOIN THUNDER_LAWS "','" laws)
    list(APPEND command thunder_controllers.ros.generator.node --once --ros-args
      -p robot:='${path}' -p name:=${robot} -p output:='${folder}' -p "laws:=['${laws}']")
    if(THUNDER_PORTABLE)
      list(APPEND command -p portable:=true)
    endif()
  else()
    list(TRANSFORM THUNDER_LAWS PREPEND "--law=" OUTPUT_VARIABLE laws)
    list(APPEND command thunder_dynamics.cli gen ${path} -n ${robot} -o ${folder} ${laws})
    if(THUNDER_PORTABLE)
      list(APPEND command --portable)
    endif()
  endif()
  set(${result} ${command} PARENT_SCOPE)
endfunction()

if(THUNDER_ROBOTS)
  thunder_check_generator()
  execute_process(COMMAND ${Python3_EXECUTABLE} -c "import rclpy, std_srvs, diagnostic_msgs"
    RESULT_VARIABLE failed OUTPUT_QUIET ERROR_QUIET)
  if(failed)
    set(THUNDER_HAS_RCLPY OFF)
    message(STATUS "No rclpy for ${Python3_EXECUTABLE}: robots are compiled by `thunder gen`")
  else()
    set(THUNDER_HAS_RCLPY ON)
  endif()
endif()

function(thunder_add_robot file)
  get_filename_component(path ${file} ABSOLUTE)
  get_filename_component(robot ${file} NAME_WE)
  if(NOT EXISTS ${path})
    message(FATAL_ERROR "THUNDER_ROBOTS: there is no file ${path}")
  endif()
  set(folder ${CMAKE_CURRENT_BINARY_DIR}/robots/${robot}_generatedFiles)
  set(library ${folder}/lib${robot}.so)
  thunder_generator_command(command ${path} ${robot} ${CMAKE_CURRENT_BINARY_DIR}/robots)
  file(GLOB_RECURSE generator CONFIGURE_DEPENDS
    ${PROJECT_SOURCE_DIR}/thunder_dynamics/*.py
    ${PROJECT_SOURCE_DIR}/thunder_dynamics/include/*
    ${PROJECT_SOURCE_DIR}/thunder_dynamics/codegen/templates/*
    ${PROJECT_SOURCE_DIR}/thunder_controllers/laws/*.py)
  add_custom_command(
    OUTPUT ${library}
    COMMAND ${command}
    COMMAND ${CMAKE_COMMAND} -E touch ${library}
    DEPENDS ${path} ${generator}
    COMMENT "Generating and compiling ${robot}"
    VERBATIM)
  add_custom_target(robot_${robot} ALL DEPENDS ${library})
  install(PROGRAMS ${library} DESTINATION lib)
  install(DIRECTORY ${folder} DESTINATION ${share_folder}/robots)
  set(config ${CMAKE_CURRENT_BINARY_DIR}/robots/thunder_${robot}Config.cmake)
  file(WRITE ${config} "# find_package(thunder_${robot}): the package of the generated folder; if the system has no Eigen, with that of its build.
find_package(Eigen3 QUIET NO_MODULE PATHS \"${Eigen3_DIR}\")
include(\"\${CMAKE_CURRENT_LIST_DIR}/../../${PROJECT_NAME}/robots/${robot}_generatedFiles/thunder_${robot}Config.cmake\")
")
  install(FILES ${config} DESTINATION share/thunder_${robot}/cmake)
endfunction()
