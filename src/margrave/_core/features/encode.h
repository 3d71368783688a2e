// From Python lists of attribute strings, or of dictionaries from names to numbers, to flat rows: one pass, no objects
// kept.
#pragma once

#include <nanobind/nanobind.h>

#include <cmath>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "features/tokens.h"
#include "features/vocabulary.h"

namespace margrave {

// The end of a sentence about a value.
inline std::string not_finite(double value) {
  return std::string(std::isnan(value) ? "nan" : value < 0 ? "-inf" : "inf") + "; values must be finite.";
}

// How names become numbers: by a vocabulary that may grow, or by hashing to a number of bits (then no name is kept).
class Encoder {
 public:
  // unit: what the user calls a token.
  Encoder(Vocabulary* vocabulary, bool grow, int hash_bits, std::string unit)
      : vocabulary_(vocabulary), grow_(grow), hash_bits_(hash_bits), unit_(std::move(unit)) {
    if (hash_bits < 0 || hash_bits > 30) throw InputError("attributes are hashed to at most 30 bits.");
  }

  // examples: a sequence of sequences of tokens; or, with `single`, of tokens.
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
    // one example at a time, so that attributes may be made as they are asked for and need not all be in memory
    for (example_ = 0; PyObject* item = PyIter_Next(iterator); ++example_) {
      const nanobind::object example = nanobind::steal(item);
      if (example_ % 1024 == 0 && PyErr_CheckSignals() != 0) throw nanobind::python_error();
      token_ = -1;
      if (single) {
        encode_token(example);
        resolve();
      } else {
        const nanobind::object inner =
            fast_sequence(example, [this] { return where() + "a sequence must be a list of " + unit_ + "s"; });
        for (token_ = 0; token_ < PySequence_Fast_GET_SIZE(inner.ptr()); ++token_)
          encode_token(nanobind::borrow(PySequence_Fast_GET_ITEM(inner.ptr(), token_)));
        resolve();  // while `inner` still owns the strings
      }
      tokens_->example_begin.push_back(tokens_->tokens());
    }
    if (PyErr_Occurred()) throw nanobind::python_error();
    return tokens_;
  }

 private:
  struct Pending {
    std::string_view name;
    uint64_t hash;
    double value;
  };

  // What a wrong type raises becomes our own sentence; anything else (Ctrl-C, a mistake in lazy attributes) goes on up.
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

  // expected(): the beginning of the sentence about anything else, which is only put together if it is needed.
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
      throw InputError(where() + "an attribute must be a string of valid characters, not " + Py_TYPE(object)->tp_name +
                       ".");
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
      const nanobind::object attributes = fast_sequence(
          token, [this] { return where() + "a " + unit_ + " must be a list of attribute strings or a dictionary"; });
      kept_.push_back(attributes);  // a set's list would be gone before its strings are looked up
      const Py_ssize_t count = PySequence_Fast_GET_SIZE(attributes.ptr());
      for (Py_ssize_t k = 0; k < count; ++k) add(text_of(PySequence_Fast_GET_ITEM(attributes.ptr(), k)), 1.0);
    }
    row_ends_.push_back(static_cast<int64_t>(pending_.size()));
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
      kept_.push_back(owner);
      add(text_of(owner.ptr()), 1.0);
      return;
    }
    if (!PyFloat_Check(value) && !PyLong_Check(value)) {
      // __float__ of a foreign type may do anything, even to the lists that own the waiting names: settle those first
      resolve();
      kept_.push_back(nanobind::borrow(key));
      kept_.push_back(nanobind::borrow(value));
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

  void add(std::string_view name, double value) {
    const uint64_t hash = hash_bytes(name.data(), name.size());
    if (hash_bits_ == 0) vocabulary_->prefetch(hash);
    pending_.push_back({name, hash, value});
  }

  // Looks up the names that wait, whose slots are on their way from memory since `add`; the last row may be unfinished.
  void resolve() {
    size_t k = 0;
    for (const int64_t end : row_ends_) {
      for (; k < static_cast<size_t>(end); ++k) settle(pending_[k]);
      tokens_->row_begin.push_back(static_cast<int64_t>(tokens_->index.size()));
    }
    for (; k < pending_.size(); ++k) settle(pending_[k]);
    pending_.clear();
    row_ends_.clear();
    kept_.clear();
  }

  void settle(const Pending& entry) {
    int32_t id;
    if (hash_bits_ > 0)
      id = static_cast<int32_t>(entry.hash & ((uint64_t{1} << hash_bits_) - 1));
    else
      id = grow_ ? vocabulary_->add(entry.name, entry.hash) : vocabulary_->find(entry.name, entry.hash);
    if (id < 0) return;  // never seen in training: it has no weights
    if (entry.value != 1.0 && tokens_->value.empty()) tokens_->value.assign(tokens_->index.size(), 1.0);
    if (entry.value != 1.0 || !tokens_->value.empty()) tokens_->value.push_back(entry.value);
    tokens_->index.push_back(id);
  }

  Vocabulary* vocabulary_;
  bool grow_;
  int hash_bits_;
  std::string unit_;
  Py_ssize_t example_ = 0;
  Py_ssize_t token_ = -1;
  std::shared_ptr<Tokens> tokens_;
  std::vector<Pending> pending_;
  std::vector<int64_t> row_ends_;
  std::vector<nanobind::object> kept_;
};

}  // namespace margrave
