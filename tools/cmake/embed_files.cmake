# Writes OUTPUT, a C++ source that defines SYMBOL(), from the files that LIST_FILE names, one a line.
# See roofcast_embed().

set(delimiter "ROOFCAST")

file(STRINGS ${LIST_FILE} files)
list(LENGTH files count)
set(texts "")
set(rows "")
set(index 0)
foreach(file IN LISTS files)
  file(READ ${file} text)
  string(FIND "${text}" ")${delimiter}\"" clash)
  if(NOT clash EQUAL -1)
    message(FATAL_ERROR "${file} contains )${delimiter}\", which ends the literal it is written to")
  endif()
  cmake_path(RELATIVE_PATH file BASE_DIRECTORY ${DIRECTORY} OUTPUT_VARIABLE name)
  string(APPEND texts "constexpr std::string_view kText${index} =
    R\"${delimiter}(${text})${delimiter}\";\n")
  string(APPEND rows "    EmbeddedFile{\"${name}\", kText${index}},\n")
  math(EXPR index "${index} + 1")
endforeach()

file(WRITE ${OUTPUT} "#include \"${HEADER}\"

#include <array>

namespace roofcast {
namespace {

${texts}
constexpr std::array<EmbeddedFile, ${count}> kFiles = {
${rows}};

}  // namespace

std::span<const EmbeddedFile> ${SYMBOL}() { return kFiles; }

}  // namespace roofcast
")
