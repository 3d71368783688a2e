// Attribute names and their numbers, in flat arrays: the names as in a model file, and a hash table over them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "protocol/checks.h"

namespace margrave {

// Must be the same on every machine: it determines the rows of hashed attributes in model files.
inline uint64_t hash_bytes(const char* bytes, size_t n) {
  constexpr uint64_t kMultiplier = 0x9fb21c651e98df25u;
  uint64_t h = 0x243f6a8885a308d3u ^ (n * kMultiplier);
  const auto mix = [&h](uint64_t word) {
    h = (h ^ word) * kMultiplier;
    h ^= h >> 29;
  };
  for (; n >= 8; bytes += 8, n -= 8) {
    uint64_t word = 0;
    for (size_t k = 0; k < 8; ++k) word |= static_cast<uint64_t>(static_cast<unsigned char>(bytes[k])) << (8 * k);
    mix(word);
  }
  uint64_t rest = 0;
  for (size_t k = 0; k < n; ++k) rest |= static_cast<uint64_t>(static_cast<unsigned char>(bytes[k])) << (8 * k);
  mix(rest);
  h *= kMultiplier;
  return h ^ (h >> 32);
}

class Vocabulary {
 public:
  Vocabulary() : offsets_(1, 0), slots_(16, 0) {}

  // From a model file: all names concatenated, and where each begins. The file may be corrupt, so everything is
  // checked.
  Vocabulary(std::vector<char> bytes, std::vector<int64_t> offsets)
      : bytes_(std::move(bytes)), offsets_(std::move(offsets)), slots_(16, 0) {
    const bool good = !offsets_.empty() && offsets_.front() == 0 &&
                      offsets_.back() == static_cast<int64_t>(bytes_.size()) &&
                      std::is_sorted(offsets_.begin(), offsets_.end()) && offsets_.size() <= kMost;
    if (!good) throw InputError("the bounds of the names in a vocabulary must ascend from 0 to their length.");
    while (slots_.size() < 2 * offsets_.size()) slots_.resize(2 * slots_.size());
    constexpr int64_t kAhead = 8;  // names whose slots are being prefetched
    std::vector<uint64_t> hashes(static_cast<size_t>(size()));
    for (int64_t id = 0; id < size() + kAhead; ++id) {
      if (id < size()) {
        const std::string_view text = name(id);
        hashes[id] = hash_bytes(text.data(), text.size());
        prefetch(hashes[id]);
      }
      if (id < kAhead) continue;
      const int64_t now = id - kAhead;
      uint64_t& slot = slots_[locate(name(now), hashes[now])];
      if (slot != 0) throw InputError("a vocabulary has a name twice.");
      slot = (hashes[now] & ~kIdMask) | static_cast<uint64_t>(now + 1);
    }
  }

  int64_t size() const { return static_cast<int64_t>(offsets_.size()) - 1; }
  std::string_view name(int64_t id) const {
    const int64_t first = offsets_[id];
    return {bytes_.data() + first, static_cast<size_t>(offsets_[id + 1] - first)};
  }

  void prefetch(uint64_t hash) const { __builtin_prefetch(&slots_[hash & (slots_.size() - 1)]); }

  // The next two steps of a look-up once the slot is in cache: the offset of the name, then its bytes.
  void prefetch_offset(uint64_t hash) const {
    const uint64_t slot = slots_[hash & (slots_.size() - 1)];
    if (slot != 0 && ((slot ^ hash) & ~kIdMask) == 0) __builtin_prefetch(&offsets_[(slot & kIdMask) - 1]);
  }
  void prefetch_bytes(uint64_t hash) const {
    const uint64_t slot = slots_[hash & (slots_.size() - 1)];
    if (slot != 0 && ((slot ^ hash) & ~kIdMask) == 0)
      __builtin_prefetch(bytes_.data() + offsets_[(slot & kIdMask) - 1]);
  }

  int32_t find(std::string_view name, uint64_t hash) const {
    const uint64_t slot = slots_[locate(name, hash)];
    return slot == 0 ? -1 : static_cast<int32_t>((slot & kIdMask) - 1);
  }

  int32_t add(std::string_view text, uint64_t hash) {
    size_t at = locate(text, hash);
    if (slots_[at] != 0) return static_cast<int32_t>((slots_[at] & kIdMask) - 1);
    if (static_cast<uint64_t>(size()) >= kMost) throw InputError("more than two billion attributes.");
    if (slots_.size() < 2 * static_cast<size_t>(size() + 1)) {
      grow();
      at = locate(text, hash);
    }
    bytes_.insert(bytes_.end(), text.begin(), text.end());
    offsets_.push_back(static_cast<int64_t>(bytes_.size()));
    slots_[at] = (hash & ~kIdMask) | static_cast<uint64_t>(size());
    return static_cast<int32_t>(size() - 1);
  }

  // Adds the names of another vocabulary in order. Returns their numbers here.
  std::vector<int32_t> merge(const Vocabulary& other) {
    std::vector<int32_t> numbers(static_cast<size_t>(other.size()));
    for (int64_t k = 0; k < other.size(); ++k) {
      const std::string_view text = other.name(k);
      numbers[k] = add(text, hash_bytes(text.data(), text.size()));
    }
    return numbers;
  }

  const std::vector<char>& bytes() const { return bytes_; }
  const std::vector<int64_t>& offsets() const { return offsets_; }

 private:
  static constexpr uint64_t kIdMask = 0xffffffffu;  // low half: id + 1, or 0; high half: that of the hash
  static constexpr uint64_t kMost = 0x7ffffffeu;

  // The slot of the name, or the empty one where it belongs. At most half of the slots are full, so the search ends.
  size_t locate(std::string_view text, uint64_t hash) const {
    const size_t mask = slots_.size() - 1;
    for (size_t at = hash & mask;; at = (at + 1) & mask) {
      const uint64_t slot = slots_[at];
      if (slot == 0) return at;
      if (((slot ^ hash) & ~kIdMask) == 0 && name(static_cast<int64_t>(slot & kIdMask) - 1) == text) return at;
    }
  }

  void grow() {
    std::vector<uint64_t> old(slots_.size() * 2, 0);
    old.swap(slots_);
    const size_t mask = slots_.size() - 1;
    for (const uint64_t slot : old) {
      if (slot == 0) continue;
      const std::string_view text = name(static_cast<int64_t>(slot & kIdMask) - 1);
      size_t at = hash_bytes(text.data(), text.size()) & mask;
      while (slots_[at] != 0) at = (at + 1) & mask;
      slots_[at] = slot;
    }
  }

  std::vector<char> bytes_;
  std::vector<int64_t> offsets_;
  std::vector<uint64_t> slots_;
};

}  // namespace margrave
