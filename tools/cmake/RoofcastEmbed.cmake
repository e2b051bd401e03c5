# roofcast_embed(TARGET <target> SYMBOL <function> HEADER <header> DIRECTORY <folder> PATTERNS <glob>...)
#
# Compiles the files of a folder into TARGET as `std::span<const roofcast::EmbeddedFile> SYMBOL()`,
# sorted by name. HEADER declares SYMBOL in namespace roofcast. Each file's name is its path
# inside DIRECTORY. Added, removed and changed files are picked up by the next build.
function(roofcast_embed)
  cmake_parse_arguments(PARSE_ARGV 0 ARG "" "TARGET;SYMBOL;HEADER;DIRECTORY" "PATTERNS")
  set(directory ${CMAKE_SOURCE_DIR}/${ARG_DIRECTORY})
  list(TRANSFORM ARG_PATTERNS PREPEND ${directory}/)
  file(GLOB files CONFIGURE_DEPENDS ${ARG_PATTERNS})
  list(SORT files)

  set(output ${CMAKE_BINARY_DIR}/generated/${ARG_TARGET}/${ARG_SYMBOL}.cpp)
  set(list_file ${output}.files)
  list(JOIN files "\n" lines)
  file(CONFIGURE OUTPUT ${list_file} CONTENT "${lines}" @ONLY)
  set(script ${CMAKE_SOURCE_DIR}/tools/cmake/embed_files.cmake)
  add_custom_command(
    OUTPUT ${output}
    COMMAND ${CMAKE_COMMAND} -D OUTPUT=${output} -D SYMBOL=${ARG_SYMBOL} -D HEADER=${ARG_HEADER}
            -D DIRECTORY=${directory} -D LIST_FILE=${list_file} -P ${script}
    DEPENDS ${files} ${list_file} ${script}
    COMMENT "Embedding ${ARG_DIRECTORY}"
    VERBATIM)
  target_sources(${ARG_TARGET} PRIVATE ${output})
  # A file may be longer than the 64 KB literal that every C++ compiler has to accept.
  set_source_files_properties(${output} PROPERTIES
    COMPILE_OPTIONS $<$<COMPILE_LANG_AND_ID:CXX,Clang,AppleClang>:-Wno-overlength-strings>)
endfunction()
