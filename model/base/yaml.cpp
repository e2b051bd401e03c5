#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <istream>
#include <sstream>
#include <unordered_set>

#include "model/base/document.hpp"
#include "model/base/utf8.hpp"

namespace roofcast {
namespace {

Position to_position(const YAML::Mark& mark) {
  return mark.is_null() ? Position{} : Position{mark.line + 1, mark.column + 1};
}

/// The parser passes bytes through as they are, and what is no text cannot be printed as JSON.
void require_utf8(std::string_view text, const std::string& file) {
  Position at{1, 1};
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t length = utf8_length(text.substr(i));
    if (length == 0)
      throw SpecError(
          place_message(file, at, "",
                        fmt::format("expected UTF-8 text, got the byte 0x{:02x}",
                                    static_cast<unsigned>(static_cast<unsigned char>(text[i])))));
    at = text[i] == '\n' ? Position{at.line + 1, 1} : Position{at.line, at.column + 1};
    i += length;
  }
}

/// Builds the Value tree from parser events. Events, unlike YAML::Node, keep the place of keys and
/// show duplicates, and let the builder stop at a depth limit.
class TreeBuilder : public YAML::EventHandler {
 public:
  TreeBuilder(std::string file, Value& root) : file_(std::move(file)), root_(root) {}

  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t) override {
    place({.kind = Value::Kind::null, .at = to_position(mark)});
  }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override {
    fail(to_position(mark), "aliases (*name) are not allowed in specs");
  }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t,
                const std::string& text) override {
    // The parser tags plain scalars "?" and quoted ones "!".
    const bool quoted_text = tag == "!";
    Value value{.kind = Value::Kind::scalar, .quoted_text = quoted_text, .at = to_position(mark)};
    if (!quoted_text && (text == "~" || text == "null" || text.empty()) && !expecting_key())
      value.kind = Value::Kind::null;
    value.scalar = text;
    place(std::move(value));
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t,
                       YAML::EmitterStyle::value) override {
    open({.kind = Value::Kind::sequence, .at = to_position(mark)});
  }
  void OnSequenceEnd() override { stack_.pop_back(); }

  void OnMapStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t,
                  YAML::EmitterStyle::value) override {
    open({.kind = Value::Kind::map, .at = to_position(mark)});
  }
  void OnMapEnd() override { stack_.pop_back(); }

 private:
  struct Frame {
    Value* node;
    bool key_pending = false;  // a key was read and its value comes next
    std::string key;
    std::unordered_set<std::string> seen;
  };

  [[noreturn]] void fail(Position at, const std::string& what) const {
    throw SpecError(place_message(file_, at, "", what));
  }

  bool expecting_key() const {
    return !stack_.empty() && stack_.back().node->is_map() && !stack_.back().key_pending;
  }

  /// Puts `value` where the parser stands and returns its final place.
  Value* place(Value value) {
    if (++values_ > kMaxDocumentValues)
      fail(value.at, fmt::format("more than {} values", kMaxDocumentValues));
    if (stack_.empty()) {
      root_ = std::move(value);
      return &root_;
    }
    Frame& frame = stack_.back();
    if (frame.node->is_sequence()) return &frame.node->items.emplace_back(std::move(value));
    if (!frame.key_pending) {
      if (!value.is_scalar())
        fail(value.at, "expected a plain key (an unclosed [ or { reads as one)");
      if (!frame.seen.insert(value.scalar).second)
        fail(value.at, fmt::format("key {} appears twice", in_quotes(value.scalar)));
      frame.key = std::move(value.scalar);
      frame.key_pending = true;
      return nullptr;
    }
    frame.key_pending = false;
    return &frame.node->members.emplace_back(std::move(frame.key), std::move(value)).second;
  }

  void open(Value value) {
    if (stack_.size() >= static_cast<std::size_t>(kMaxDocumentDepth))
      fail(value.at, fmt::format("nested deeper than {} levels", kMaxDocumentDepth));
    Value* node = place(std::move(value));
    stack_.push_back(Frame{.node = node, .key_pending = false, .key = {}, .seen = {}});
  }

  std::string file_;
  Value& root_;
  std::size_t values_ = 0;
  std::vector<Frame> stack_;
};

}  // namespace

Document parse_yaml(std::string_view text, std::string file) {
  Document document{.file = std::move(file), .root = {}};
  require_utf8(text, document.file);
  std::istringstream in{std::string(text)};
  try {
    YAML::Parser parser(in);
    TreeBuilder builder(document.file, document.root);
    parser.HandleNextDocument(builder);
    Value further;
    TreeBuilder rest(document.file, further);
    if (parser.HandleNextDocument(rest))
      throw SpecError(place_message(document.file, further.at, "", "expected one YAML document"));
  } catch (const YAML::Exception& error) {
    throw SpecError(place_message(document.file, to_position(error.mark), "", error.msg));
  }
  return document;
}

}  // namespace roofcast
