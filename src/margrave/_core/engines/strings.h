// Numbered strings of words of derivations, so equal strings are found by their number.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

namespace margrave {

struct HashOfWords {
  size_t operator()(const std::vector<int32_t>& words) const {
    uint64_t h = words.size();
    for (const int32_t word : words) {
      h = (h ^ static_cast<uint32_t>(word)) * 0x9fb21c651e98df25u;
      h ^= h >> 29;
    }
    return h;
  }
};

// The pattern of an edge: words, and gap(j) for the string of tail j.
using Pattern = std::vector<int32_t>;

class Strings {
 public:
  int64_t size() const { return static_cast<int64_t>(strings_.size()); }
  const std::vector<int32_t>& words(int64_t key) const { return *strings_[key]; }

  // The number of a string. New strings are added.
  int64_t add(std::vector<int32_t> words) {
    const auto [place, added] = numbers_.try_emplace(std::move(words), size());
    if (added) strings_.push_back(&place->first);  // keys of the map do not move
    return place->second;
  }

  // The number of the string of a pattern, given the strings of its tails.
  int64_t join(const int32_t* first, const int32_t* last, const std::vector<int64_t>& tails) {
    std::vector<int32_t> joined;
    for (; first < last; ++first) {
      if (*first >= 0) {
        joined.push_back(*first);
      } else {
        const std::vector<int32_t>& inner = words(tails[-1 - *first]);
        joined.insert(joined.end(), inner.begin(), inner.end());
      }
    }
    return add(std::move(joined));
  }

 private:
  std::unordered_map<std::vector<int32_t>, int64_t, HashOfWords> numbers_;
  std::vector<const std::vector<int32_t>*> strings_;
};

}  // namespace margrave
