// The functions of templates that need no Unicode tables: affixes of any value, and all functions of ASCII values.
// Python (features/templates.py) defines them and computes all other results.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace margrave {

class TemplateFunction {
 public:
  explicit TemplateFunction(const std::string& name) {
    if (name == "lower") what_ = What::kLower;
    if (name == "digits") what_ = What::kDigits;
    if (name == "shape") what_ = What::kShape;
    if (name == "short_shape") what_ = What::kShortShape;
    if (name.size() == 7 && name[6] >= '1' && name[6] <= '9') {
      if (name.starts_with("prefix")) what_ = What::kPrefix;
      if (name.starts_with("suffix")) what_ = What::kSuffix;
      affix_ = name[6] - '0';
    }
    if (name.size() == 5 && name.starts_with("stem") && name[4] >= '1' && name[4] <= '9') {
      what_ = What::kStem;
      affix_ = name[4] - '0';
    }
  }

  // Whether `apply` can compute the result for a value.
  bool knows(std::string_view value) const {
    if (what_ == What::kPrefix || what_ == What::kSuffix || what_ == What::kStem) return true;
    if (what_ == What::kOther) return false;
    for (const char c : value)
      if (static_cast<unsigned char>(c) >= 0x80) return false;
    return true;
  }

  std::optional<std::string> apply(std::string_view value) const {
    if (what_ == What::kPrefix || what_ == What::kSuffix || what_ == What::kStem) return affix(value);
    std::string result;
    for (const char c : value) {
      const char changed = change(c);
      if (what_ != What::kShortShape || result.empty() || result.back() != changed) result += changed;
    }
    return result;
  }

 private:
  enum class What { kOther, kLower, kDigits, kShape, kShortShape, kPrefix, kSuffix, kStem };

  char change(char c) const {
    const bool upper = c >= 'A' && c <= 'Z', lower = c >= 'a' && c <= 'z', digit = c >= '0' && c <= '9';
    switch (what_) {
      case What::kLower: return upper ? static_cast<char>(c - 'A' + 'a') : c;
      case What::kDigits: return digit ? '0' : c;
      default: return upper ? 'X' : lower ? 'x' : digit ? 'd' : c;
    }
  }

  // The first or last affix_ characters. If there are fewer: no value, or for a stem, all of them.
  std::optional<std::string> affix(std::string_view value) const {
    const auto continues = [&](size_t at) { return (static_cast<unsigned char>(value[at]) & 0xc0) == 0x80; };
    size_t at = what_ == What::kSuffix ? value.size() : 0;
    for (int left = affix_; left > 0; --left) {
      if (what_ != What::kSuffix) {
        if (at == value.size() && what_ == What::kStem) break;
        if (at == value.size()) return std::nullopt;
        do ++at;
        while (at < value.size() && continues(at));
      } else {
        if (at == 0) return std::nullopt;
        do --at;
        while (at > 0 && continues(at));
      }
    }
    return std::string(what_ != What::kSuffix ? value.substr(0, at) : value.substr(at));
  }

  What what_ = What::kOther;
  int affix_ = 0;
};

}  // namespace margrave
