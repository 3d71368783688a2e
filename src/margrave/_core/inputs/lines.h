// Lines of UTF-8 text. The core reads only well-formed text and reports the line at which it stopped. The readers in
// Python (datasets/) then report the error.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace margrave {

// Text from outside as a message quotes it: cut after some bytes, but not within a character.
inline std::string shown(std::string_view text, size_t most = 80) {
  if (text.size() <= most) return std::string(text);
  while (most > 0 && (static_cast<unsigned char>(text[most]) & 0xC0) == 0x80) --most;
  return std::string(text.substr(0, most)) + "...";
}

inline constexpr std::string_view kBlanks = " \t\r\f\v";  // separate columns

// The length of the UTF-8 sequence at p, or 0 if it is not valid.
inline size_t utf8_length(const unsigned char* p, const unsigned char* end) {
  const auto follows = [&](ptrdiff_t k, unsigned char low = 0x80, unsigned char high = 0xbf) {
    return p + k < end && p[k] >= low && p[k] <= high;
  };
  const unsigned char c = *p;
  if (c < 0x80) return 1;
  if (c >= 0xc2 && c <= 0xdf) return follows(1) ? 2 : 0;
  if (c >= 0xe0 && c <= 0xef) {  // neither overlong forms nor surrogates
    const bool second = follows(1, c == 0xe0 ? 0xa0 : 0x80, c == 0xed ? 0x9f : 0xbf);
    return second && follows(2) ? 3 : 0;
  }
  if (c >= 0xf0 && c <= 0xf4) {
    const bool second = follows(1, c == 0xf0 ? 0x90 : 0x80, c == 0xf4 ? 0x8f : 0xbf);
    return second && follows(2) && follows(3) ? 4 : 0;
  }
  return 0;
}

// The position of the first byte that is NUL or not part of valid UTF-8; the size of the text if there is none.
inline size_t first_invalid(std::string_view text) {
  const auto* begin = reinterpret_cast<const unsigned char*>(text.data());
  const unsigned char* const end = begin + text.size();
  const unsigned char* p = begin;
  while (p < end) {
    // Eight bytes of ASCII other than NUL: no high bit is set, neither in the bytes nor after subtracting 1 from each.
    uint64_t word;
    while (end - p >= 8) {
      std::memcpy(&word, p, 8);
      if (((word | (word - 0x0101010101010101u)) & 0x8080808080808080u) != 0) break;
      p += 8;
    }
    if (p == end) break;
    const size_t length = *p == 0 ? 0 : utf8_length(p, end);
    if (length == 0) return static_cast<size_t>(p - begin);
    p += length;
  }
  return text.size();
}

// The lines of a text, without their ends.
class Lines {
 public:
  explicit Lines(std::string_view text) : text_(text), invalid_(first_invalid(text)) {}

  // Returns whether there is another line; `good` whether it is valid.
  bool next(std::string_view& line) {
    if (at_ >= text_.size()) return false;
    const size_t found = text_.find('\n', at_);
    const size_t end = found == std::string_view::npos ? text_.size() : found;
    line = text_.substr(at_, end - at_);
    good_ = invalid_ >= end;
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    const size_t stop = at_ + line.size();
    at_ = end + 1;
    end_ = text_.substr(stop, at_ - stop);
    ++number_;
    return true;
  }
  std::string_view end() const { return end_; }  // of the last line read: LF, CR LF, or empty
  bool good() const { return good_; }
  int64_t number() const { return number_; }  // of the last line read, from 1

 private:
  std::string_view text_;
  size_t invalid_;
  size_t at_ = 0;
  std::string_view end_;
  bool good_ = true;
  int64_t number_ = 0;
};

inline bool is_blank(std::string_view line, std::string_view blanks) {
  return line.find_first_not_of(blanks) == std::string_view::npos;
}

// The position after the last blank line, so the text before it is whole sentences; 0 if there is none. An unterminated
// last line does not count.
inline size_t after_last_blank_line(std::string_view text, std::string_view blanks) {
  size_t end = text.rfind('\n');  // of a line
  while (end != std::string_view::npos) {
    const size_t before = end == 0 ? std::string_view::npos : text.rfind('\n', end - 1);
    const size_t begin = before == std::string_view::npos ? 0 : before + 1;
    std::string_view line = text.substr(begin, end - begin);
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    if (is_blank(line, blanks)) return end + 1;
    end = before;
  }
  return 0;
}

}  // namespace margrave
