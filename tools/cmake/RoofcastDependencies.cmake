# Every dependency is a Debian 12 package (tools/setup.sh installs them). Link names:
# fmt::fmt  nlohmann_json::nlohmann_json  yaml-cpp  Boost::program_options  Boost::headers
# PkgConfig::hwloc  Threads::Threads

find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(yaml-cpp REQUIRED)
find_package(Boost REQUIRED COMPONENTS program_options)
find_package(PkgConfig REQUIRED)
pkg_check_modules(hwloc REQUIRED IMPORTED_TARGET hwloc)
