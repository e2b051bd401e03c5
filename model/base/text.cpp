#include "model/base/text.hpp"

#include <fmt/format.h>

#include "model/base/utf8.hpp"

namespace roofcast {
namespace {

unsigned byte_at(std::string_view text, std::size_t i) {
  return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U;
}

bool continues(unsigned byte) { return (byte & 0xC0U) == 0x80U; }

/// C0, DEL and, in UTF-8 the two bytes C2 80 to C2 9F, C1: terminals obey U+009B like ESC [.
bool is_control(std::string_view character) {
  const unsigned first = byte_at(character, 0);
  if (character.size() == 1) return first < 0x20U || first == 0x7FU;
  return character.size() == 2 && first == 0xC2U && byte_at(character, 1) < 0xA0U;
}

}  // namespace

std::string printable(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    const std::string_view character = text.substr(0, length == 0 ? 1 : length);
    if (length == 0 || is_control(character))
      for (const char c : character) out += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    else
      out += character;
    text.remove_prefix(character.size());
  }
  return out;
}

std::string shortened(std::string_view text, std::size_t bytes) {
  if (text.size() <= bytes) return std::string(text);
  std::size_t end = bytes;
  for (int back = 0; back < 3 && end > 0 && continues(byte_at(text, end)); ++back) --end;
  return std::string(text.substr(0, end)) + "...";
}

}  // namespace roofcast
