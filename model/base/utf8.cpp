#include "model/base/utf8.hpp"

namespace roofcast {

std::size_t utf8_length(std::string_view text) {
  const auto byte = [&](std::size_t i) {
    return i < text.size() ? static_cast<unsigned>(static_cast<unsigned char>(text[i])) : 0U;
  };
  const auto continues = [&](std::size_t i) { return (byte(i) & 0xC0U) == 0x80U; };
  const unsigned lead = byte(0);
  if (lead < 0x80U) return 1;
  if (lead >= 0xC2U && lead < 0xE0U) return continues(1) ? 2 : 0;
  if (lead >= 0xE0U && lead < 0xF0U) {
    const bool overlong = lead == 0xE0U && byte(1) < 0xA0U;
    const bool surrogate = lead == 0xEDU && byte(1) >= 0xA0U;
    return continues(1) && continues(2) && !overlong && !surrogate ? 3 : 0;
  }
  if (lead < 0xF0U || lead > 0xF4U) return 0;
  const bool overlong = lead == 0xF0U && byte(1) < 0x90U;
  const bool too_large = lead == 0xF4U && byte(1) >= 0x90U;
  return continues(1) && continues(2) && continues(3) && !overlong && !too_large ? 4 : 0;
}

std::string valid_utf8(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    if (length == 0)
      out += '?';
    else
      out += text.substr(0, length);
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return out;
}

}  // namespace roofcast
