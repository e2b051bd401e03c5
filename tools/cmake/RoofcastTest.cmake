set(ROOFCAST_FUZZ_SECONDS 60 CACHE STRING "Seconds that each fuzzer runs under CTest")

# roofcast_test(NAME SOURCES <file>... LINKS <target>...)
#
# One doctest executable, and one CTest entry per source, named by its path below tests/ without
# the ending, such as "model/base/quantity_test". A source without a single test case fails.
# ROOFCAST_SHARED_DIR is the optional data folder beside the repository, ROOFCAST_SOURCE_DIR the root.
function(roofcast_test NAME)
  cmake_parse_arguments(PARSE_ARGV 1 ARG "" "" "SOURCES;LINKS")
  if(NOT ARG_SOURCES)
    return()
  endif()
  add_executable(${NAME} ${ARG_SOURCES})
  roofcast_include_folders(${NAME} PRIVATE FOLDERS tests)
  target_link_libraries(${NAME} PRIVATE roofcast_test_main ${ARG_LINKS} roofcast_warnings roofcast_options)
  cmake_path(GET CMAKE_SOURCE_DIR PARENT_PATH beside)
  target_compile_definitions(${NAME} PRIVATE
    ROOFCAST_SHARED_DIR="${beside}/shared"
    ROOFCAST_SOURCE_DIR="${CMAKE_SOURCE_DIR}"
    ROOFCAST_BINARY_DIR="${CMAKE_BINARY_DIR}")
  foreach(source IN LISTS ARG_SOURCES)
    if(NOT source MATCHES "_test\\.cpp$")
      continue()
    endif()
    set(path ${CMAKE_CURRENT_SOURCE_DIR}/${source})
    cmake_path(RELATIVE_PATH path BASE_DIRECTORY ${CMAKE_SOURCE_DIR}/tests OUTPUT_VARIABLE test)
    string(REGEX REPLACE "\\.cpp$" "" test ${test})
    add_test(NAME ${test} COMMAND ${NAME} "--source-file=*tests/${test}.cpp")
    set_tests_properties(${test} PROPERTIES
      TIMEOUT 300
      FAIL_REGULAR_EXPRESSION "test cases: +0 ")
  endforeach()
endfunction()

# roofcast_fuzz(NAME SOURCE <file> SEEDS <folder> LINKS <target>...)
#
# A libFuzzer executable and a CTest entry that runs it for ROOFCAST_FUZZ_SECONDS from the seed files
# in SEEDS (a path from the repository root). New inputs go to the build folder.
function(roofcast_fuzz NAME)
  cmake_parse_arguments(PARSE_ARGV 1 ARG "" "SOURCE;SEEDS" "LINKS")
  add_executable(${NAME} ${ARG_SOURCE})
  target_link_libraries(${NAME} PRIVATE ${ARG_LINKS} roofcast_warnings roofcast_options)
  target_link_options(${NAME} PRIVATE -fsanitize=fuzzer)
  add_dependencies(roofcast_fuzzers ${NAME})
  set(corpus ${CMAKE_BINARY_DIR}/corpus/${NAME})
  file(MAKE_DIRECTORY ${corpus})
  add_test(NAME fuzz/${NAME}
    COMMAND ${NAME} -max_total_time=${ROOFCAST_FUZZ_SECONDS} -timeout=10 -rss_limit_mb=2048
            -malloc_limit_mb=256 -max_len=65536 -print_final_stats=1
            -artifact_prefix=${corpus}/crash- ${corpus} ${CMAKE_SOURCE_DIR}/${ARG_SEEDS})
  math(EXPR limit "${ROOFCAST_FUZZ_SECONDS} + 120")
  set_tests_properties(fuzz/${NAME} PROPERTIES LABELS fuzz TIMEOUT ${limit})
endfunction()
