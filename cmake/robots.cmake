# thunder_add_robot(FILE): generate and compile one robot at build time, and install it.
#
# <prefix>/lib holds lib<robot>.so, <prefix>/share/thunder_controllers/robots the generated folder. The generator is run
# from the source tree; the metadata folder lets it find laws by their entry points before anything is installed.

set(thunder_generator_modules casadi click lxml numpy pybind11 pydantic xacro yaml)

function(thunder_check_generator)
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

if(THUNDER_ROBOTS)
  thunder_check_generator()
endif()

function(thunder_add_robot file)
  get_filename_component(path ${file} ABSOLUTE)
  get_filename_component(robot ${file} NAME_WE)
  if(NOT EXISTS ${path})
    message(FATAL_ERROR "THUNDER_ROBOTS: there is no file ${path}")
  endif()
  set(folder ${CMAKE_CURRENT_BINARY_DIR}/robots/${robot}_generatedFiles)
  set(library ${folder}/lib${robot}.so)
  list(TRANSFORM THUNDER_LAWS PREPEND "--law=" OUTPUT_VARIABLE options)
  if(THUNDER_PORTABLE)
    list(APPEND options --portable)
  endif()
  set(search_path ${PROJECT_SOURCE_DIR}:${metadata_folder})
  if(DEFINED ENV{PYTHONPATH} AND NOT "$ENV{PYTHONPATH}" STREQUAL "")
    string(APPEND search_path ":$ENV{PYTHONPATH}")
  endif()
  file(GLOB_RECURSE generator CONFIGURE_DEPENDS
    ${PROJECT_SOURCE_DIR}/thunder_dynamics/*.py
    ${PROJECT_SOURCE_DIR}/thunder_dynamics/include/*
    ${PROJECT_SOURCE_DIR}/thunder_dynamics/codegen/templates/*
    ${PROJECT_SOURCE_DIR}/thunder_controllers/laws/*.py)
  add_custom_command(
    OUTPUT ${library}
    COMMAND ${CMAKE_COMMAND} -E env PYTHONPATH=${search_path} ${Python3_EXECUTABLE}
            -m thunder_dynamics.cli gen ${path} -n ${robot} -o ${CMAKE_CURRENT_BINARY_DIR}/robots -p
            ${options}
    COMMAND ${CMAKE_COMMAND} -E touch ${library}
    DEPENDS ${path} ${generator}
    COMMENT "Generating and compiling ${robot}"
    VERBATIM)
  add_custom_target(robot_${robot} ALL DEPENDS ${library})
  install(PROGRAMS ${library} DESTINATION lib)
  install(DIRECTORY ${folder} DESTINATION ${share_folder}/robots)
endfunction()
