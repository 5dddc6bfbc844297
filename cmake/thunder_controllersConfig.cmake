# find_package(thunder_controllers): the target thunder_controllers::host, from a prefix installed without ament.
include(CMakeFindDependencyMacro)
find_dependency(OpenSSL COMPONENTS Crypto)
include("${CMAKE_CURRENT_LIST_DIR}/thunder_controllers-targets.cmake")
