// Attributes whose values are numbered before their names are built.
//
// Templates over columns see the same values again and again, and number them (inputs/templates.h). An attribute is
// then a pair of integers: its kind, such as a template, and the key of its value. A table from these pairs to the rows
// of a vocabulary avoids building, hashing and comparing strings for known pairs. Two keys of one kind may have the
// same name. The table then has the same row for both.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "protocol/checks.h"
#include "rows/tokens.h"
#include "rows/vocabulary.h"

namespace margrave {

// Numbers values, and builds the names of attributes. Keys are valid while the object lives.
class KeyedNames {
 public:
  virtual ~KeyedNames() = default;
  virtual int64_t kinds() const = 0;
  virtual int64_t keys(int64_t kind) const = 0;  // number of keys of a kind so far
  virtual void spell(int64_t kind, int32_t key, std::string& name) const = 0;

  const int64_t serial = next_serial();  // no two have the same, also one after the other
  std::mutex mutex;                      // must be held to number or spell

 private:
  static int64_t next_serial() {
    static std::atomic<int64_t> last{0};
    return ++last;
  }
};

class KeyedAttributes {
 public:
  virtual ~KeyedAttributes() = default;
  virtual const std::shared_ptr<KeyedNames>& names() const = 0;
  virtual int64_t examples() const = 0;
  virtual int64_t units(int64_t example) const = 0;
  // The keys of all attributes of an example: (units, kinds), -1 if a unit has no attribute of the kind. May number new
  // values, so the names' mutex must be held.
  virtual void keys(int64_t example, std::vector<int32_t>& keys) const = 0;
};

// Maps (kind, key) to the row of the attribute, for the names of one KeyedNames. Filled on demand. It knows the names
// by their serial number and does not own them: who keeps tables by names would otherwise keep all names for ever.
class KeyTable {
 public:
  KeyTable(const std::shared_ptr<KeyedNames>& names, std::shared_ptr<Vocabulary> vocabulary, int hash_bits)
      : vocabulary_(std::move(vocabulary)), hash_bits_(hash_bits) {
    if (hash_bits < 0 || hash_bits > 30) throw InputError("attributes are hashed to at most 30 bits.");
    if (!names || (!vocabulary_ && hash_bits == 0))
      throw InputError("a table of keys needs names, and a vocabulary or a number of hash bits.");
    serial_ = names->serial;
    rows_.resize(static_cast<size_t>(names->kinds()));
  }

  const std::shared_ptr<Vocabulary>& vocabulary() const { return vocabulary_; }

  // Rows of the attributes. With `grow`, new names are numbered in order of occurrence; otherwise they are left out.
  // check() is called now and then, and may throw.
  template <typename Check>
  std::shared_ptr<Tokens> encode(const KeyedAttributes& attributes, bool grow, const Check& check) {
    KeyedNames& names = *attributes.names();
    if (names.serial != serial_) throw InputError("the keys of these attributes belong to other names.");
    const std::lock_guard lock(names.mutex);
    forget_absent_names(grow);
    auto tokens = std::make_shared<Tokens>();
    const auto kinds = static_cast<size_t>(names.kinds());
    for (int64_t i = 0; i < attributes.examples(); ++i) {
      if (i % 1024 == 0) check();
      attributes.keys(i, keys_);
      for (size_t kind = 0; kind < kinds; ++kind)
        enlarge(kind, static_cast<size_t>(names.keys(static_cast<int64_t>(kind))));
      find_rows(names, kinds);
      resolve_new(grow);
      append(kinds, *tokens);
      tokens->example_begin.push_back(tokens->tokens());
    }
    if (vocabulary_) known_ = vocabulary_->size();
    return tokens;
  }

 private:
  static constexpr int32_t kAbsent = -1;  // the vocabulary does not have the name
  static constexpr int32_t kNew = -2;     // the name has not been looked up yet

  struct Pending {
    size_t at;  // in keys_
    size_t kind;
    int32_t key;
    uint64_t hash;
    size_t begin, end;  // of the name in spelled_
  };

  // Absent names may be known by now, or are to be added.
  void forget_absent_names(bool grow) {
    if (!vocabulary_ || (!grow && known_ == vocabulary_->size())) return;
    for (std::vector<int32_t>& rows : rows_) std::replace(rows.begin(), rows.end(), kAbsent, kNew);
  }

  void enlarge(size_t kind, size_t needed) {
    if (rows_[kind].size() < needed) rows_[kind].resize(std::max(needed, 2 * rows_[kind].size()), kNew);
  }

  // Replaces keys by rows. New names are built first and looked up together per example, so the slots of the vocabulary
  // can be prefetched.
  void find_rows(const KeyedNames& names, size_t kinds) {
    pending_.clear();
    spelled_.clear();
    for (size_t at = 0; at < keys_.size();)
      for (size_t kind = 0; kind < kinds; ++kind, ++at) {
        const int32_t key = keys_[at];
        if (key < 0) continue;
        if ((keys_[at] = rows_[kind][key]) != kNew) continue;
        const size_t begin = spelled_.size();
        names.spell(static_cast<int64_t>(kind), key, spelled_);
        const uint64_t hash = hash_bytes(spelled_.data() + begin, spelled_.size() - begin);
        if (hash_bits_ == 0) vocabulary_->prefetch(hash);
        pending_.push_back({at, kind, key, hash, begin, spelled_.size()});
      }
  }

  void resolve_new(bool grow) {
    if (hash_bits_ == 0) {
      for (const Pending& each : pending_) vocabulary_->prefetch_offset(each.hash);
      for (const Pending& each : pending_) vocabulary_->prefetch_bytes(each.hash);
    }
    for (const Pending& each : pending_) {
      const std::string_view name(spelled_.data() + each.begin, each.end - each.begin);
      keys_[each.at] = rows_[each.kind][each.key] =
          hash_bits_ > 0 ? static_cast<int32_t>(each.hash & ((uint64_t{1} << hash_bits_) - 1))
          : grow         ? vocabulary_->add(name, each.hash)
                         : vocabulary_->find(name, each.hash);
    }
  }

  void append(size_t kinds, Tokens& tokens) const {
    const size_t first = tokens.index.size();
    tokens.index.resize(first + keys_.size());
    int32_t* next = tokens.index.data() + first;
    for (size_t at = 0; at < keys_.size();) {
      for (const size_t end = at + kinds; at < end; ++at) {
        *next = keys_[at];
        next += keys_[at] >= 0;
      }
      tokens.row_begin.push_back(next - tokens.index.data());
    }
    tokens.index.resize(static_cast<size_t>(next - tokens.index.data()));
  }

  int64_t serial_ = 0;  // of the names
  std::shared_ptr<Vocabulary> vocabulary_;
  int hash_bits_;
  int64_t known_ = 0;  // the size of the vocabulary at the last look-up
  std::vector<std::vector<int32_t>> rows_;
  std::vector<int32_t> keys_;  // keys of an example, later its rows
  std::vector<Pending> pending_;
  std::string spelled_;
};

}  // namespace margrave
