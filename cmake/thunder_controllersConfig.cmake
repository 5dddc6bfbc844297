# find_package(thunder_controllers): the target thunder_controllers::host, from a prefix installed without ament.
include(CMakeFindDependencyMacro)
find_dependency(OpenSSL COMPONENTS Crypto)
find_dependency(Threads)
include("${CMAKE_CURRENT_LIST_DIR}/thunder_controllers-targets.cmake")
