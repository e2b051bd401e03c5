# roofcast_library(NAME FOLDERS <folder>... [HEADERS_OF <folder>...] [LINKS <target_link_libraries args>...])
#
# A static library whose headers are reachable only by linking it. Its one include directory,
# <build>/include/NAME, holds links to nothing but the library's own folders, so that
# `#include "model/base/quantity.hpp"` compiles only in code that links roofcast_base.
#   FOLDERS     folders from the repository root, with all that is below them
#   HEADERS_OF  folders of which only the headers directly inside belong to the library
#   LINKS       what target_link_libraries() takes: PUBLIC what its headers include, PRIVATE the rest
# Each folder's CMakeLists.txt then lists its sources: target_sources(NAME PRIVATE a.cpp b.cpp)
function(roofcast_library NAME)
  cmake_parse_arguments(PARSE_ARGV 1 ARG "" "" "FOLDERS;HEADERS_OF;LINKS")
  add_library(${NAME} STATIC)
  roofcast_include_folders(${NAME} PUBLIC FOLDERS ${ARG_FOLDERS} HEADERS_OF ${ARG_HEADERS_OF})
  target_link_libraries(${NAME} PUBLIC roofcast_options PRIVATE roofcast_warnings)
  if(ARG_LINKS)
    target_link_libraries(${NAME} ${ARG_LINKS})
  endif()
  set_property(GLOBAL APPEND PROPERTY ROOFCAST_LIBRARIES ${NAME})
endfunction()

# roofcast_include_folders(NAME <PUBLIC|PRIVATE> FOLDERS <folder>... [HEADERS_OF <folder>...])
# Gives the target NAME its include directory of links, see roofcast_library().
function(roofcast_include_folders NAME SCOPE)
  cmake_parse_arguments(PARSE_ARGV 2 ARG "" "" "FOLDERS;HEADERS_OF")
  set(root ${CMAKE_BINARY_DIR}/include/${NAME})
  file(REMOVE_RECURSE ${root})
  set(entries ${ARG_FOLDERS})
  foreach(folder IN LISTS ARG_HEADERS_OF)
    file(GLOB headers CONFIGURE_DEPENDS RELATIVE ${CMAKE_SOURCE_DIR} ${CMAKE_SOURCE_DIR}/${folder}/*.hpp)
    list(APPEND entries ${headers})
  endforeach()
  foreach(entry IN LISTS entries)
    cmake_path(GET entry PARENT_PATH parent)
    file(MAKE_DIRECTORY ${root}/${parent})
    file(CREATE_LINK ${CMAKE_SOURCE_DIR}/${entry} ${root}/${entry} SYMBOLIC)
  endforeach()
  target_include_directories(${NAME} ${SCOPE} ${root})
endfunction()

# Gives each library that lists no source yet an empty one, as CMake refuses a library without sources.
function(roofcast_finish)
  get_property(libraries GLOBAL PROPERTY ROOFCAST_LIBRARIES)
  foreach(library IN LISTS libraries)
    get_target_property(sources ${library} SOURCES)
    if(NOT sources)
      set(empty ${CMAKE_BINARY_DIR}/generated/${library}/empty.cpp)
      file(CONFIGURE OUTPUT ${empty} CONTENT "")
      target_sources(${library} PRIVATE ${empty})
    endif()
  endforeach()
endfunction()
