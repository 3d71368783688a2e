// Converts Python lists of attribute strings, or dictionaries from names to numbers, to flat rows, in one pass.
//
// The calling thread, which holds the GIL, walks the Python objects. Names are looked up as plain bytes without the
// GIL. With several threads, one thread looks up a batch of names while the next batch is walked.
#pragma once

#include <nanobind/nanobind.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <exception>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "protocol/checks.h"
#include "rows/tokens.h"
#include "rows/vocabulary.h"
#include "threads/parallel.h"

namespace margrave {

// The end of an error message about a value.
inline std::string not_finite(double value) {
  return std::string(std::isnan(value) ? "nan" : value < 0 ? "-inf" : "inf") + "; values must be finite.";
}

// Attributes to be numbered, in rows and examples. The last row and the last example may be unfinished.
struct NamedRows {
  struct Entry {
    std::string_view name;
    double value;
  };
  std::vector<Entry> entries;
  std::vector<size_t> row_ends;          // in entries
  std::vector<size_t> example_ends;      // in rows
  std::vector<nanobind::object> owners;  // of names that their example does not own
  std::string copies;                    // all names concatenated, if they have no owner

  void clear() {
    entries.clear();
    row_ends.clear();
    example_ends.clear();
    owners.clear();
    copies.clear();
  }

  // Only valid when no more copies are added: until then they may move.
  void use_copies() {
    const char* next = copies.data();
    for (Entry& entry : entries) {
      entry.name = {next, entry.name.size()};
      next += entry.name.size();
    }
  }
};

// How names become numbers: by a vocabulary that may grow, or by hashing to a number of bits (then no name is kept).
class Numbering {
 public:
  Numbering(Vocabulary* vocabulary, bool grow, int hash_bits)
      : vocabulary_(vocabulary), grow_(grow), hash_bits_(hash_bits) {
    if (hash_bits < 0 || hash_bits > 30) throw InputError("attributes are hashed to at most 30 bits.");
  }

  // Appends the rows to those of `tokens`. Touches no Python object.
  void append(const NamedRows& rows, Tokens& tokens) {
    number(rows.entries);
    size_t k = 0;
    size_t row = 0;
    const auto finish_row = [&] {
      for (; k < rows.row_ends[row]; ++k) add(ids_[k], rows.entries[k].value, tokens);
      tokens.row_begin.push_back(static_cast<int64_t>(tokens.index.size()));
    };
    for (const size_t end : rows.example_ends) {
      for (; row < end; ++row) finish_row();
      tokens.example_begin.push_back(tokens.tokens());
    }
    for (; row < rows.row_ends.size(); ++row) finish_row();
    for (; k < rows.entries.size(); ++k) add(ids_[k], rows.entries[k].value, tokens);
  }

 private:
  static constexpr size_t kTogether = 64;  // names whose slots, offsets and bytes are being prefetched

  void number(const std::vector<NamedRows::Entry>& entries) {
    ids_.resize(entries.size());
    std::array<uint64_t, kTogether> hashes;
    for (size_t first = 0; first < entries.size(); first += kTogether) {
      const size_t n = std::min(kTogether, entries.size() - first);
      for (size_t k = 0; k < n; ++k) {
        const std::string_view name = entries[first + k].name;
        hashes[k] = hash_bytes(name.data(), name.size());
        if (hash_bits_ == 0) vocabulary_->prefetch(hashes[k]);
      }
      if (hash_bits_ == 0) {
        for (size_t k = 0; k < n; ++k) vocabulary_->prefetch_offset(hashes[k]);
        for (size_t k = 0; k < n; ++k) vocabulary_->prefetch_bytes(hashes[k]);
      }
      for (size_t k = 0; k < n; ++k) {
        const std::string_view name = entries[first + k].name;
        ids_[first + k] = hash_bits_ > 0 ? static_cast<int32_t>(hashes[k] & ((uint64_t{1} << hash_bits_) - 1))
                          : grow_        ? vocabulary_->add(name, hashes[k])
                                         : vocabulary_->find(name, hashes[k]);
      }
    }
  }

  static void add(int32_t id, double value, Tokens& tokens) {
    if (id < 0) return;  // not seen in training: it has no weights
    if (value != 1.0 && tokens.value.empty()) tokens.value.assign(tokens.index.size(), 1.0);
    if (value != 1.0 || !tokens.value.empty()) tokens.value.push_back(value);
    tokens.index.push_back(id);
  }

  Vocabulary* vocabulary_;
  bool grow_;
  int hash_bits_;
  std::vector<int32_t> ids_;
};

// Walks the examples and numbers their names.
class Encoder {
 public:
  // unit: the user's word for a token. With several threads, names are numbered on another one if there are many.
  Encoder(Numbering numbering, std::string unit, int threads)
      : numbering_(std::move(numbering)), unit_(std::move(unit)), ahead_(threads > 1) {}
  ~Encoder() { join(); }
  Encoder(const Encoder&) = delete;
  Encoder& operator=(const Encoder&) = delete;

  // examples: a sequence of sequences of tokens; with `single`, a sequence of tokens.
  std::shared_ptr<Tokens> encode(nanobind::handle examples, bool single) {
    tokens_ = std::make_shared<Tokens>();
    if (PyUnicode_Check(examples.ptr()) || PyBytes_Check(examples.ptr()) || PyDict_Check(examples.ptr()))
      throw InputError(std::string("X must be a sequence of examples, not ") + Py_TYPE(examples.ptr())->tp_name + ".");
    PyObject* iterator = PyObject_GetIter(examples.ptr());
    if (!iterator) {
      expected_error();
      throw InputError(std::string("X must be a sequence of examples, not ") + Py_TYPE(examples.ptr())->tp_name + ".");
    }
    const nanobind::object outer = nanobind::steal(iterator);
    // One example at a time: attributes may be generated lazily and need not all be in memory.
    for (example_ = 0; PyObject* item = PyIter_Next(iterator); ++example_) {
      const nanobind::object example = nanobind::steal(item);
      if (example_ % 1024 == 0 && PyErr_CheckSignals() != 0) throw nanobind::python_error();
      token_ = -1;
      nanobind::object inner;
      if (single) {
        encode_token(example);
      } else {
        inner = fast_sequence(example, [this] { return where() + "a sequence must be a list of " + unit_ + "s"; });
        for (token_ = 0; token_ < PySequence_Fast_GET_SIZE(inner.ptr()); ++token_)
          encode_token(nanobind::borrow(PySequence_Fast_GET_ITEM(inner.ptr(), token_)));
      }
      walked_.example_ends.push_back(walked_.row_ends.size());
      if (!ahead_) resolve();  // while `inner` still owns the strings
    }
    if (PyErr_Occurred()) throw nanobind::python_error();
    finish_behind();
    if (ahead_) walked_.use_copies();
    resolve();
    return tokens_;
  }

 private:
  // Names per batch. A thread is started for each batch, which takes far less time than looking up its names. With
  // fewer names there is no thread.
  static constexpr size_t kBatch = 1 << 14;
  static constexpr size_t kBatchBytes = 1 << 22;  // a batch of long names ends here, because their copies take memory

  // Replaces errors about a wrong type by our own message. All others (Ctrl-C, an error in lazy attributes) propagate.
  static void expected_error() {
    if (!PyErr_ExceptionMatches(PyExc_TypeError) && !PyErr_ExceptionMatches(PyExc_UnicodeError) &&
        !PyErr_ExceptionMatches(PyExc_OverflowError))
      throw nanobind::python_error();
    PyErr_Clear();
  }

  std::string where() const {
    return "example " + std::to_string(example_) + (token_ >= 0 ? ", " + unit_ + " " + std::to_string(token_) : "") +
           ": ";
  }

  // expected(): the beginning of the error message, built only if needed.
  template <typename Expected>
  static nanobind::object fast_sequence(nanobind::handle object, const Expected& expected) {
    if (PyUnicode_Check(object.ptr()) || PyBytes_Check(object.ptr()) || PyDict_Check(object.ptr()))
      throw InputError(expected() + ", not " + Py_TYPE(object.ptr())->tp_name + ".");
    PyObject* fast = PySequence_Fast(object.ptr(), "");
    if (!fast) {
      expected_error();
      throw InputError(expected() + ", not " + Py_TYPE(object.ptr())->tp_name + ".");
    }
    return nanobind::steal(fast);
  }

  std::string_view text_of(PyObject* object) {
    Py_ssize_t size = 0;
    const char* bytes = PyUnicode_Check(object) ? PyUnicode_AsUTF8AndSize(object, &size) : nullptr;
    if (!bytes) {
      if (PyErr_Occurred()) expected_error();
      throw InputError(where() + "an attribute must be a string of valid characters" +
                       (PyUnicode_Check(object) ? ", and one has half of a character (a lone surrogate)."
                                                : std::string(", not ") + Py_TYPE(object)->tp_name + "."));
    }
    return {bytes, static_cast<size_t>(size)};
  }

  void encode_token(const nanobind::object& owner) {
    PyObject* token = owner.ptr();
    if (PyDict_Check(token)) {
      PyObject* key = nullptr;
      PyObject* value = nullptr;
      Py_ssize_t at = 0;
      while (PyDict_Next(token, &at, &key, &value)) encode_item(key, value);
    } else {
      if (PyUnicode_Check(token) || PyBytes_Check(token))
        throw InputError(where() + "a " + unit_ +
                         " must be a list of attribute strings or a dictionary from names to numbers, not " +
                         Py_TYPE(token)->tp_name + ".");
      // __iter__ of a foreign type may do anything, even change the lists that own the pending names.
      if (!ahead_ && !PyList_CheckExact(token) && !PyTuple_CheckExact(token)) resolve();
      const nanobind::object attributes = fast_sequence(
          token, [this] { return where() + "a " + unit_ + " must be a list of attribute strings or a dictionary"; });
      own(attributes);  // a set's list would be freed before its strings are looked up
      for (Py_ssize_t k = 0; k < PySequence_Fast_GET_SIZE(attributes.ptr()); ++k) {  // `add` may release objects
        PyObject* name = PySequence_Fast_GET_ITEM(attributes.ptr(), k);
        add(text_of(name), 1.0);
      }
    }
    walked_.row_ends.push_back(walked_.entries.size());
  }

  // name: number is an attribute with a value; name: "text" is the attribute name=text.
  void encode_item(PyObject* key, PyObject* value) {
    const std::string_view name = text_of(key);
    if (PyUnicode_Check(value)) {
      std::string joined(name);
      joined += '=';
      joined += text_of(value);
      const nanobind::object owner =
          nanobind::steal(PyUnicode_FromStringAndSize(joined.data(), static_cast<Py_ssize_t>(joined.size())));
      if (!owner.is_valid()) throw nanobind::python_error();
      own(owner);
      add(text_of(owner.ptr()), 1.0);
      return;
    }
    if (!PyFloat_Check(value) && !PyLong_CheckExact(value) && !PyBool_Check(value)) {
      // __float__ of a foreign type, or of a subclass of int, may do anything, even change the lists that own the
      // pending names. So those are looked up first. This releases objects, whose __del__ may do anything as well.
      nanobind::object own_key = nanobind::borrow(key);
      nanobind::object own_value = nanobind::borrow(value);
      if (!ahead_) resolve();
      walked_.owners.push_back(std::move(own_key));
      walked_.owners.push_back(std::move(own_value));
    }
    const double number = PyFloat_AsDouble(value);
    if (number == -1.0 && PyErr_Occurred()) {
      const bool large = PyErr_ExceptionMatches(PyExc_OverflowError) != 0;
      expected_error();
      if (large) throw InputError(where() + "attribute '" + std::string(name) + "' has a value that is too large.");
      throw InputError(where() + "attribute '" + std::string(name) +
                       "' must have a number or a string as its value, not " + Py_TYPE(value)->tp_name + ".");
    }
    if (!std::isfinite(number))
      throw InputError(where() + "attribute '" + std::string(name) + "' has the value " + not_finite(number));
    if (number != 0) add(name, number);
  }

  // Names that outlive their example are copied: other code may run in the meantime and change the lists that own them.
  // Holding references to all of them would cost more time than copying the bytes.
  void add(std::string_view name, double value) {
    if (ahead_) walked_.copies.append(name);
    walked_.entries.push_back({name, value});
    if (ahead_ && (walked_.entries.size() >= kBatch || walked_.copies.size() >= kBatchBytes)) resolve_behind();
  }

  void own(const nanobind::object& owner) {
    if (!ahead_) walked_.owners.push_back(owner);
  }

  void resolve() {
    numbering_.append(walked_, *tokens_);
    walked_.clear();
  }

  // Looks up the names of this batch on another thread, after those of the previous batch.
  void resolve_behind() {
    finish_behind();
    std::swap(walked_, resolved_);
    const auto look_up = [this](int) {
      try {
        resolved_.use_copies();
        numbering_.append(resolved_, *tokens_);
      } catch (...) {
        failure_ = std::current_exception();
      }
    };
    behind_ = start_threads(1, look_up);
    if (behind_.empty()) look_up(0);  // no thread available
  }

  void finish_behind() {
    join();
    resolved_.clear();
    if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
  }

  void join() {
    for (std::thread& thread : behind_) thread.join();
    behind_.clear();
  }

  Numbering numbering_;
  std::string unit_;
  bool ahead_;  // whether names may outlive their example
  Py_ssize_t example_ = 0;
  Py_ssize_t token_ = -1;
  std::shared_ptr<Tokens> tokens_;
  NamedRows walked_;                 // rows walked by the calling thread
  NamedRows resolved_;               // rows being looked up by the other thread
  std::vector<std::thread> behind_;  // at most one
  std::exception_ptr failure_;
};

}  // namespace margrave
