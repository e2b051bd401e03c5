# Compiler settings as two INTERFACE targets: `roofcast_warnings` and `roofcast_options` (C++20, sanitizers).
# roofcast_library(), roofcast_test() and roofcast_fuzz() link both. Nothing is set globally.

find_program(ROOFCAST_CCACHE ccache)
if(ROOFCAST_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${ROOFCAST_CCACHE})
endif()

set(ROOFCAST_CUDA_ARCHITECTURES "80;86;89;90;100;120" CACHE STRING "GPU generations to compile device code for")
if(ROOFCAST_DEVICE)
  include(CheckLanguage)
  check_language(CUDA)
  if(CMAKE_CUDA_COMPILER)
    enable_language(CUDA)
    set(CMAKE_CUDA_ARCHITECTURES ${ROOFCAST_CUDA_ARCHITECTURES})
  else()
    message(STATUS "No CUDA compiler found: building without device code")
  endif()
endif()

add_library(roofcast_warnings INTERFACE)
target_compile_options(roofcast_warnings INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-Wall;-Wextra;-Wpedantic;-Wshadow;-Wconversion>
  $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<BOOL:${ROOFCAST_WERROR}>>:-Werror>)
# GCC 12 sees overlapping copies in `"text" + std::string` (its bug 105651).
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  target_compile_options(roofcast_warnings INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Wno-restrict>)
endif()

add_library(roofcast_options INTERFACE)
target_compile_features(roofcast_options INTERFACE cxx_std_20)
# By flag, as CMake 3.25 knows no CUDA standard above C++17.
target_compile_options(roofcast_options INTERFACE $<$<COMPILE_LANGUAGE:CUDA>:-std=c++20>)
if(ROOFCAST_SANITIZE)
  set(sanitize -fsanitize=${ROOFCAST_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_compile_options(roofcast_options INTERFACE $<$<COMPILE_LANGUAGE:CXX>:${sanitize}>)
  target_link_options(roofcast_options INTERFACE ${sanitize})
endif()
if(ROOFCAST_FUZZ)
  target_compile_options(roofcast_options INTERFACE -fsanitize=fuzzer-no-link)
endif()
