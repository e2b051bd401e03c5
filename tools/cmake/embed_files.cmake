# Writes OUTPUT, a C++ source that defines SYMBOL(), from the files that LIST_FILE names, one a line.
# See roofcast_embed(). Texts become raw strings, cut at line ends into pieces of some 12 KB,
# because compilers limit the length of one literal.

set(delimiter "ROOFCAST")

# Sets RESULT to the literals that together hold TEXT.
function(raw_literals RESULT TEXT)
  set(literals "")
  string(LENGTH "${TEXT}" left)
  while(left GREATER 12000)
    string(SUBSTRING "${TEXT}" 0 12000 piece)
    string(FIND "${piece}" "\n" cut REVERSE)
    if(cut EQUAL -1)
      message(FATAL_ERROR "A line of more than 12000 bytes can't be embedded")
    endif()
    math(EXPR cut "${cut} + 1")
    string(SUBSTRING "${TEXT}" 0 ${cut} piece)
    string(SUBSTRING "${TEXT}" ${cut} -1 TEXT)
    string(APPEND literals "\n    R\"${delimiter}(${piece})${delimiter}\"")
    string(LENGTH "${TEXT}" left)
  endwhile()
  string(APPEND literals "\n    R\"${delimiter}(${TEXT})${delimiter}\"")
  set(${RESULT} "${literals}" PARENT_SCOPE)
endfunction()

file(STRINGS ${LIST_FILE} files)
list(LENGTH files count)
set(texts "")
set(rows "")
set(index 0)
foreach(file IN LISTS files)
  file(READ ${file} text)
  string(FIND "${text}" ")${delimiter}\"" clash)
  if(NOT clash EQUAL -1)
    message(FATAL_ERROR "${file} contains )${delimiter}\"")
  endif()
  raw_literals(literals "${text}")
  cmake_path(RELATIVE_PATH file BASE_DIRECTORY ${DIRECTORY} OUTPUT_VARIABLE name)
  string(APPEND texts "constexpr std::string_view kText${index} =${literals};\n")
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
