#pragma once

#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace roofcast {

/// Place in a user's file. Lines and columns count from 1; 0 means "the file as a whole".
struct Position {
  int line = 0;
  int column = 0;
  bool operator==(const Position&) const = default;
};

/// The user's input is wrong; what() is one line that starts with the place.
class SpecError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The input is well-formed but asks for something that the model does not represent.
class UnsupportedError : public SpecError {
 public:
  using SpecError::SpecError;
};

/// A file or device could not be read or written.
class IoError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// "file:line:column: key: what", leaving out the parts that are empty. Control characters of `key`
/// and `what` (which may quote hostile input) are escaped by `printable`, so that the message stays
/// one line.
std::string place_message(std::string_view file, Position at, std::string_view key,
                          std::string_view what);

/// The candidate nearest to `name` by edit distance (case ignored); empty when none is near enough
/// to be a plausible misspelling.
std::string nearest_name(std::string_view name, const std::vector<std::string>& candidates);

/// Whether `name` is `meant` with a slip of the keys: one edit apart, or two in a longer name.
bool is_slip(std::string_view name, std::string_view meant);

/// ", did you mean \"x\"?", or "x", "y" or "z" when `name` is the beginning of a few or shares the
/// part before its first "-" with a few, or, when no candidate is near, an empty text.
std::string did_you_mean(std::string_view name, const std::vector<std::string>& candidates);

/// "a, b, c": the first dozen of `names`, with "... (N in all)" when there are more.
std::string list_of(const std::vector<std::string>& names);

/// `text` in double quotes, shortened to 60 characters, control characters escaped.
std::string in_quotes(std::string_view text);

}  // namespace roofcast
