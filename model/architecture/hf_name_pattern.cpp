#include "model/architecture/hf_name_pattern.hpp"

#include <algorithm>
#include <array>

namespace roofcast::detail {
namespace {

using Step = NameRegex::Step;
constexpr std::size_t kMaxExpression = 4096;
constexpr int kMaxDepth = 32;

/// Recursive-descent compiler to a program of steps; `ok` turns false at unknown syntax.
class Compiler {
 public:
  explicit Compiler(std::string_view text) : text_(text) {}

  std::optional<std::vector<Step>> run() {
    if (text_.starts_with('^')) ++at_;
    std::vector<Step> program = alternatives(0);
    if (!ok_ || at_ != text_.size()) return std::nullopt;
    program.push_back({.kind = Step::Kind::accept});
    return program;
  }

 private:
  bool more() const { return at_ < text_.size(); }
  std::vector<Step> failed() {
    ok_ = false;
    return {};
  }

  /// Appends `part`, whose targets count from its own start.
  static void append(std::vector<Step>& program, std::vector<Step> part) {
    const std::size_t base = program.size();
    for (Step& step : part) {
      step.to += base;
      step.other += base;
      program.push_back(step);
    }
  }

  std::vector<Step> alternatives(int depth) {
    if (depth > kMaxDepth) return failed();
    std::vector<Step> left = sequence(depth);
    while (ok_ && more() && text_[at_] == '|') {
      ++at_;
      std::vector<Step> right = sequence(depth);
      std::vector<Step> both;
      both.push_back({.kind = Step::Kind::split, .to = 1, .other = left.size() + 2});
      append(both, std::move(left));
      both.push_back({.kind = Step::Kind::jump, .to = both.size() + 1 + right.size()});
      append(both, std::move(right));
      left = std::move(both);
    }
    return left;
  }

  std::vector<Step> sequence(int depth) {
    std::vector<Step> program;
    while (ok_ && more() && text_[at_] != '|' && text_[at_] != ')') {
      if (text_[at_] == '$') {
        ++at_;
        program.push_back({.kind = Step::Kind::end, .to = program.size() + 1});
        continue;
      }
      append(program, repeated(atom(depth)));
    }
    return program;
  }

  std::vector<Step> repeated(std::vector<Step> part) {
    if (!ok_ || !more()) return part;
    const char sign = text_[at_];
    if (sign == '{') return failed();
    if (sign != '*' && sign != '+' && sign != '?') return part;
    ++at_;
    if (more() && text_[at_] == '?') ++at_;  // shortest first: the same set of matches
    std::vector<Step> program;
    const std::size_t length = part.size();
    if (sign == '+') {
      append(program, std::move(part));
      program.push_back({.kind = Step::Kind::split, .to = 0, .other = length + 1});
      return program;
    }
    const std::size_t past = length + (sign == '*' ? 2 : 1);
    program.push_back({.kind = Step::Kind::split, .to = 1, .other = past});
    append(program, std::move(part));
    if (sign == '*') program.push_back({.kind = Step::Kind::jump, .to = 0});
    return program;
  }

  std::vector<Step> atom(int depth) {
    const char c = text_[at_++];
    if (c == '(') {
      if (text_.substr(at_).starts_with("?:"))
        at_ += 2;
      else if (more() && text_[at_] == '?')
        return failed();
      std::vector<Step> inside = alternatives(depth + 1);
      if (!ok_ || !more() || text_[at_] != ')') return failed();
      ++at_;
      return inside;
    }
    std::bitset<256> chars;
    if (c == '[') return bracket();
    if (c == '*' || c == '+' || c == '?' || c == '{' || c == '^') return failed();
    if (c == '.')
      chars.set();
    else if (c == '\\')
      return escape();
    else
      chars.set(static_cast<unsigned char>(c));
    return one(chars);
  }

  static std::vector<Step> one(const std::bitset<256>& chars) {
    return {{.kind = Step::Kind::one_of, .chars = chars, .to = 1}};
  }

  static void add_range(std::bitset<256>& chars, char first, char last) {
    for (int c = static_cast<unsigned char>(first); c <= static_cast<unsigned char>(last); ++c)
      chars.set(static_cast<std::size_t>(c));
  }

  std::vector<Step> escape() {
    if (!more()) return failed();
    const char c = text_[at_++];
    std::bitset<256> chars;
    if (c == 'd' || c == 'w') add_range(chars, '0', '9');
    if (c == 'w') {
      add_range(chars, 'a', 'z');
      add_range(chars, 'A', 'Z');
      chars.set('_');
    }
    if (chars.none()) {
      const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
      if (letter || (c >= '0' && c <= '9')) return failed();
      chars.set(static_cast<unsigned char>(c));
    }
    return one(chars);
  }

  std::vector<Step> bracket() {
    std::bitset<256> chars;
    const bool negated = more() && text_[at_] == '^';
    if (negated) ++at_;
    while (more() && text_[at_] != ']') {
      const char first = text_[at_++];
      if (first == '\\') return failed();
      if (at_ + 1 < text_.size() && text_[at_] == '-' && text_[at_ + 1] != ']') {
        add_range(chars, first, text_[at_ + 1]);
        at_ += 2;
      } else {
        chars.set(static_cast<unsigned char>(first));
      }
    }
    if (!more()) return failed();
    ++at_;
    return one(negated ? ~chars : chars);
  }

  std::string_view text_;
  std::size_t at_ = 0;
  bool ok_ = true;
};

/// Set of live steps while a text is read.
class Threads {
 public:
  explicit Threads(const std::vector<Step>& steps) : steps_(steps), seen_(steps.size(), false) {}

  /// Adds `start` and what it leads to without reading a character.
  void add(std::size_t start, bool at_end) {
    std::vector<std::size_t> pending{start};
    while (!pending.empty()) {
      const std::size_t at = pending.back();
      pending.pop_back();
      if (seen_[at]) continue;
      seen_[at] = true;
      const Step& step = steps_[at];
      if (step.kind == Step::Kind::split) pending.push_back(step.other);
      if (step.kind == Step::Kind::split || step.kind == Step::Kind::jump ||
          (step.kind == Step::Kind::end && at_end))
        pending.push_back(step.to);
      if (step.kind == Step::Kind::accept) accepted = true;
      if (step.kind == Step::Kind::one_of) live.push_back(at);
    }
  }

  std::vector<std::size_t> live;
  bool accepted = false;

 private:
  const std::vector<Step>& steps_;
  std::vector<bool> seen_;
};

constexpr std::array<std::string_view, 8> kPrefixes = {"model.language_model.model.",
                                                       "model.language_model.",
                                                       "language_model.model.",
                                                       "language_model.",
                                                       "model.",
                                                       "backbone.",
                                                       "transformer.",
                                                       ""};

std::string_view without_prefix(std::string_view name) {
  for (const std::string_view prefix : kPrefixes)
    if (name.starts_with(prefix)) return name.substr(prefix.size());
  return name;
}

/// Calls `use` with every part of a dotted path that starts and ends at a dot; stops at true.
template <typename Use>
bool any_part(std::string_view path, Use&& use) {
  for (std::size_t start = 0; start <= path.size();) {
    for (std::size_t end = start; end != std::string_view::npos;) {
      end = path.find('.', end + (end > start ? 1 : 0));
      if (use(path.substr(start, end == std::string_view::npos ? end : end - start))) return true;
    }
    const std::size_t dot = path.find('.', start);
    if (dot == std::string_view::npos) return false;
    start = dot + 1;
  }
  return false;
}

}  // namespace

std::optional<NameRegex> NameRegex::compile(std::string_view expression) {
  if (expression.size() > kMaxExpression) return std::nullopt;
  auto steps = Compiler(expression).run();
  if (!steps) return std::nullopt;
  NameRegex regex;
  regex.steps_ = std::move(*steps);
  return regex;
}

bool NameRegex::matches_prefix(std::string_view text) const {
  Threads threads(steps_);
  threads.add(0, text.empty());
  for (std::size_t i = 0; i < text.size() && !threads.accepted && !threads.live.empty(); ++i) {
    Threads next(steps_);
    for (const std::size_t at : threads.live)
      if (steps_[at].chars.test(static_cast<unsigned char>(text[i])))
        next.add(steps_[at].to, i + 1 == text.size());
    threads.live = std::move(next.live);
    threads.accepted = next.accepted;
  }
  return threads.accepted;
}

bool shell_match(std::string_view pattern, std::string_view text) {
  std::size_t p = 0;
  std::size_t t = 0;
  std::size_t star = std::string_view::npos;
  std::size_t resume = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      resume = t;
    } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == text[t])) {
      ++p;
      ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++resume;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

bool ModuleSet::add(std::string_view entry) {
  if (entry.starts_with("re:")) {
    auto regex = NameRegex::compile(entry.substr(3));
    if (regex) regexes_.push_back(std::move(*regex));
    return regex.has_value();
  }
  const std::string_view name = without_prefix(entry);
  if (name.find_first_of("*?") != std::string_view::npos)
    patterns_.emplace_back(name);
  else if (!name.empty())
    names_.emplace(name);
  return true;
}

bool ModuleSet::contains(const std::string& module) const {
  const bool named = any_part(module, [this](std::string_view part) {
    if (names_.contains(part)) return true;
    for (const std::string& pattern : patterns_)
      if (shell_match(pattern, part)) return true;
    return false;
  });
  if (named) return true;
  if (regexes_.empty()) return false;
  std::array<std::string, kPrefixes.size()> full_names;
  for (std::size_t i = 0; i < kPrefixes.size(); ++i)
    full_names[i] = std::string(kPrefixes[i]) + module;
  return std::any_of(regexes_.begin(), regexes_.end(), [&](const NameRegex& regex) {
    return std::any_of(full_names.begin(), full_names.end(),
                       [&](const std::string& name) { return regex.matches_prefix(name); });
  });
}

}  // namespace roofcast::detail
