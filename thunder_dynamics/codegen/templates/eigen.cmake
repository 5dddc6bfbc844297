# The target Eigen3::Eigen, of the system or else of the Python package cmeel-eigen; `eigen_missing` says what to do.
find_package(Eigen3 QUIET NO_MODULE)
if(NOT Eigen3_FOUND)
  find_package(Python3 QUIET COMPONENTS Interpreter)
  execute_process(
    COMMAND "${Python3_EXECUTABLE}" -c
            "from importlib import metadata; print(metadata.distribution('cmeel-eigen').locate_file('cmeel.prefix'))"
    OUTPUT_VARIABLE eigen_prefix OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  find_package(Eigen3 QUIET NO_MODULE PATHS "${eigen_prefix}")
endif()
set(eigen_missing "Eigen is missing: install libeigen3-dev, or pip install cmeel-eigen.")
