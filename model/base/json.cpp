#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <nlohmann/json.hpp>
#include <unordered_map>
#include <unordered_set>

#include "model/base/document.hpp"

namespace roofcast {
namespace {

using Json = nlohmann::json;

/// Turns offsets into lines and columns; offsets are asked for in ascending order.
class LineCounter {
 public:
  explicit LineCounter(std::string_view text) : text_(text) {}

  Position at(std::size_t offset) {
    for (; offset_ < offset && offset_ < text_.size(); ++offset_) {
      if (text_[offset_] == '\n') {
        ++line_;
        line_start_ = offset_ + 1;
      }
    }
    return {line_, static_cast<int>(offset - line_start_) + 1};
  }

 private:
  std::string_view text_;
  std::size_t offset_ = 0;
  std::size_t line_start_ = 0;
  int line_ = 1;
};

/// An input iterator that counts what the parser has consumed: the library's SAX events carry no
/// position of their own.
struct CountingIterator {
  using difference_type = std::ptrdiff_t;
  using value_type = char;
  using pointer = const char*;
  using reference = const char&;
  using iterator_category = std::input_iterator_tag;

  const char* here = nullptr;
  std::size_t* consumed = nullptr;

  reference operator*() const { return *here; }
  CountingIterator& operator++() {
    ++here;
    if (consumed != nullptr) ++*consumed;
    return *this;
  }
  CountingIterator operator++(int) {
    CountingIterator before = *this;
    ++*this;
    return before;
  }
  bool operator==(const CountingIterator& other) const { return here == other.here; }
  bool operator!=(const CountingIterator& other) const { return here != other.here; }
};

/// Literals that JSON lacks, by their offset in the text.
using PythonLiterals = std::unordered_map<std::size_t, std::string_view>;

/// Builds the Value tree from SAX events; refuses duplicate keys and excessive depth as they come.
class JsonTreeBuilder : public nlohmann::json_sax<Json> {
 public:
  /// `literals`: where in `text` an empty list stands for a literal of Python's.
  JsonTreeBuilder(std::string_view text, const PythonLiterals& literals, std::string file,
                  Value& root)
      : text_(text), lines_(text), literals_(literals), file_(std::move(file)), root_(root) {}

  std::size_t consumed = 0;

  bool null() override { return put({.kind = Value::Kind::null, .at = token_start()}); }
  bool boolean(bool value) override { return put_plain(value ? "true" : "false"); }
  bool number_integer(number_integer_t value) override {
    return put_plain(fmt::format("{}", value));
  }
  bool number_unsigned(number_unsigned_t value) override {
    return put_plain(fmt::format("{}", value));
  }
  bool number_float(number_float_t, const string_t& token) override { return put_plain(token); }
  bool binary(binary_t&) override { return false; }

  bool string(string_t& text) override {
    return put({.kind = Value::Kind::scalar,
                .quoted_text = true,
                .at = token_start(),
                .scalar = std::move(text)});
  }

  bool start_object(std::size_t) override { return open(Value::Kind::map); }
  bool end_object() override { return close(); }
  bool start_array(std::size_t) override { return open(Value::Kind::sequence); }
  bool end_array() override { return close(); }

  bool key(string_t& name) override {
    const Position at = token_start();
    Frame& frame = stack_.back();
    if (!frame.seen.insert(name).second)
      throw SpecError(
          place_message(file_, at, "", fmt::format("key {} appears twice", in_quotes(name))));
    frame.key = std::move(name);
    return true;
  }

  bool parse_error(std::size_t position, const std::string& token,
                   const nlohmann::detail::exception&) override {
    const std::size_t offset = std::max(last_end_, position == 0 ? 0 : position - 1);
    throw SpecError(place_message(
        file_, lines_.at(std::min(offset, text_.size())), "",
        offset >= text_.size() ? std::string("expected more JSON, got the end of the file")
                               : fmt::format("expected valid JSON, got {}", in_quotes(token))));
  }

 private:
  struct Frame {
    Value* node;
    std::string key;
    std::unordered_set<std::string> seen;
  };

  /// Offset of the token just read: what the last one left, less separators.
  std::size_t token_offset() {
    const std::size_t found = text_.find_first_not_of(" \t\r\n,:", last_end_);
    last_end_ = std::max(last_end_, consumed);
    return std::min(found, text_.size());
  }
  Position token_start() { return lines_.at(token_offset()); }

  bool put_plain(std::string text) {
    return put({.kind = Value::Kind::scalar, .at = token_start(), .scalar = std::move(text)});
  }

  bool put(Value value) {
    place(std::move(value));
    return true;
  }

  Value* place(Value value) {
    if (++values_ > kMaxDocumentValues)
      throw SpecError(place_message(file_, value.at, "",
                                    fmt::format("more than {} values", kMaxDocumentValues)));
    if (stack_.empty()) {
      root_ = std::move(value);
      return &root_;
    }
    Frame& frame = stack_.back();
    if (frame.node->is_sequence()) return &frame.node->items.emplace_back(std::move(value));
    return &frame.node->members.emplace_back(std::move(frame.key), std::move(value)).second;
  }

  bool open(Value::Kind kind) {
    const std::size_t offset = token_offset();
    const Position at = lines_.at(offset);
    const auto literal = literals_.find(offset);
    inside_literal_ = literal != literals_.end();
    if (inside_literal_)
      return put(
          {.kind = Value::Kind::not_finite, .at = at, .scalar = std::string(literal->second)});
    if (stack_.size() >= static_cast<std::size_t>(kMaxDocumentDepth))
      throw SpecError(place_message(
          file_, at, "", fmt::format("nested deeper than {} levels", kMaxDocumentDepth)));
    stack_.push_back(Frame{.node = place({.kind = kind, .at = at}), .key = {}, .seen = {}});
    return true;
  }

  bool close() {
    token_start();
    if (!inside_literal_) stack_.pop_back();
    inside_literal_ = false;
    return true;
  }

  std::string_view text_;
  LineCounter lines_;
  const PythonLiterals& literals_;
  bool inside_literal_ = false;
  std::string file_;
  Value& root_;
  std::size_t last_end_ = 0;
  std::size_t values_ = 0;
  std::vector<Frame> stack_;
};

/// JSON without Python's literals, and where an empty list stands for one.
struct CleanJson {
  std::string text;
  PythonLiterals literals;
};

/// Python's json module writes NaN, Infinity and -Infinity, which are no JSON. Replaces them
/// outside strings by `[]` and blanks of equal length, so that places stay.
CleanJson without_python_literals(std::string_view text) {
  constexpr std::array<std::string_view, 3> kLiterals = {"NaN", "Infinity", "-Infinity"};
  CleanJson clean{std::string(text), {}};
  std::string& out = clean.text;
  bool in_string = false;
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (out[i] == '"') in_string = !in_string;
    if (in_string && out[i] == '\\') ++i;
    if (in_string || (out[i] != 'N' && out[i] != 'I' && out[i] != '-')) continue;
    for (const std::string_view literal : kLiterals) {
      if (!std::string_view(out).substr(i).starts_with(literal)) continue;
      out.replace(i, literal.size(), literal.size(), ' ').replace(i, 2, "[]");
      clean.literals.emplace(i, literal);
    }
  }
  return clean;
}

}  // namespace

Document parse_json(std::string_view text, std::string file) {
  Document document{.file = std::move(file), .root = {}};
  const CleanJson clean = without_python_literals(text);
  JsonTreeBuilder builder(clean.text, clean.literals, document.file, document.root);
  const CountingIterator begin{clean.text.data(), &builder.consumed};
  const CountingIterator end{clean.text.data() + clean.text.size(), nullptr};
  Json::sax_parse(begin, end, &builder);
  return document;
}

}  // namespace roofcast
