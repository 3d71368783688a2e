// Kernels between inputs as a feature map (003, Eq. 14): scores of (position, label) parts are
//
//   theta[t, l] = sum_s K(x_t, s) a[s, l],
//
// where s runs over the support inputs, the distinct inputs of the training data. The weights a are representer
// coefficients with the inner product a'K b. In this inner product, scatter is the adjoint of score: it adds only to
// the coefficients of the example's own inputs. All other scores, such as those of label tuples, keep ordinary weights.
// Positions are tokens, or the spans of constituent trees (003, section 4.5.1).
#pragma once

#include <algorithm>
#include <cmath>
#include <list>
#include <memory>
#include <mutex>
#include <numeric>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "features/table.h"
#include "protocol/checks.h"
#include "protocol/features.h"
#include "rows/vocabulary.h"
#include "simd/loops.h"

namespace margrave {

// K(x, z) as a function of <x, z>, <x, x> and <z, z>.
struct KernelFunction {
  enum Kind { kLinear, kPolynomial, kRbf };

  Kind kind;
  double gamma;
  double coef0;
  int degree;

  void check() const {
    if (kind != kLinear && !(gamma > 0 && std::isfinite(gamma)))
      throw InputError("the gamma of a kernel must be positive and finite.");
    if (kind == kPolynomial && !(coef0 >= 0 && std::isfinite(coef0)))
      throw InputError("the coef0 of a polynomial kernel must be finite and not negative.");
    if (kind == kPolynomial && degree < 1) throw InputError("the degree of a polynomial kernel must be at least 1.");
  }

  double operator()(double inner, double xx, double zz) const {
    if (kind == kLinear) return inner;
    if (kind == kRbf) return std::exp(-gamma * std::max(0.0, xx + zz - 2 * inner));
    const double base = gamma * inner + coef0;
    double power = base;
    for (int k = 1; k < degree; ++k) power *= base;
    return power;
  }
};

// The distinct rows of tokens, in order of first occurrence, each with sorted indices.
class Inputs {
 public:
  explicit Inputs(const Tokens& tokens) {
    Row row;
    for (int64_t t = 0; t < tokens.tokens(); ++t) {
      tidy(tokens, t, row);
      const uint64_t hash = hash_of(row);
      if (find(row, hash) >= 0) continue;
      by_hash_.emplace(hash, size());
      origin_.push_back(t);
      double square = 0;
      for (size_t k = 0; k < row.index.size(); ++k) {
        rows_.index.push_back(static_cast<int32_t>(row.index[k]));
        rows_.value.push_back(row.value[k]);
        square += row.value[k] * row.value[k];
      }
      square_.push_back(square);
      rows_.row_begin.push_back(static_cast<int64_t>(rows_.index.size()));
      rows_.example_begin.push_back(size());
      if (!row.index.empty()) attributes_ = std::max(attributes_, row.index.back() + 1);
    }
    check_used(attributes_, static_cast<int64_t>(rows_.index.size()), "attributes of inputs", kMostUnused);
    arrange();
  }

  int64_t size() const { return rows_.tokens(); }
  const Tokens& rows() const { return rows_; }
  const std::vector<int64_t>& origin() const { return origin_; }  // the first token with each row
  double square(int64_t s) const { return square_[s]; }

  // The number of each token's row; -1 if it is not among these.
  std::vector<int64_t> numbers(const Tokens& tokens) const {
    std::vector<int64_t> numbers;
    Row row;
    for (int64_t t = 0; t < tokens.tokens(); ++t) {
      tidy(tokens, t, row);
      numbers.push_back(find(row, hash_of(row)));
    }
    return numbers;
  }

  // The inputs with the given numbers.
  std::shared_ptr<Inputs> subset(const std::vector<int64_t>& kept) const {
    Tokens tokens;
    for (const int64_t s : kept) {
      if (s < 0 || s >= size()) throw InputError("the number of a support input is out of range.");
      for (int64_t k = rows_.row_begin[s]; k < rows_.row_begin[s + 1]; ++k) {
        tokens.index.push_back(rows_.index[k]);
        tokens.value.push_back(rows_.value[k]);
      }
      tokens.row_begin.push_back(static_cast<int64_t>(tokens.index.size()));
      tokens.example_begin.push_back(tokens.tokens());
    }
    return std::make_shared<Inputs>(tokens);
  }

  // <x, s> for row x of other inputs and all s of these.
  void inner(const Inputs& others, int64_t x, double* out) const {
    const int64_t first = others.rows_.row_begin[x], last = others.rows_.row_begin[x + 1];
    if (!dense_.empty()) {
      std::vector<double> full(attributes_);
      for (int64_t k = first; k < last; ++k)
        if (others.rows_.index[k] < attributes_) full[others.rows_.index[k]] = others.rows_.value[k];
      for (int64_t s = 0; s < size(); ++s)
        out[s] = loops().dot(full.data(), dense_.data() + s * attributes_, attributes_);
      return;
    }
    std::fill(out, out + size(), 0.0);
    for (int64_t k = first; k < last; ++k) {
      const int64_t a = others.rows_.index[k];
      if (a >= attributes_) continue;
      const double value = others.rows_.value[k];
      for (int64_t p = posting_begin_[a]; p < posting_begin_[a + 1]; ++p) out[posting_[p]] += value * posting_value_[p];
    }
  }

 private:
  static constexpr int64_t kMostUnused = int64_t{1} << 26;  // hashed attributes have gaps
  static constexpr int64_t kDense = 4;  // rows with at least a share 1/4 of all attributes are stored densely

  // Two rows are the same input if they are the same vector, regardless of order, repeats and zeros.
  static void tidy(const Tokens& tokens, int64_t t, Row& row) {
    std::vector<std::pair<int64_t, double>> entries;
    for (int64_t k = tokens.row_begin[t]; k < tokens.row_begin[t + 1]; ++k)
      entries.emplace_back(tokens.index[k], tokens.value.empty() ? 1.0 : tokens.value[k]);
    merge_entries(entries, row);
    size_t kept = 0;
    for (size_t k = 0; k < row.index.size(); ++k) {
      if (row.value[k] == 0) continue;
      row.index[kept] = row.index[k];
      row.value[kept++] = row.value[k];
    }
    row.index.resize(kept);
    row.value.resize(kept);
  }
  static uint64_t hash_of(const Row& row) {
    const auto bytes = [](const auto& values) {
      return hash_bytes(reinterpret_cast<const char*>(values.data()), values.size() * sizeof values[0]);
    };
    return bytes(row.index) ^ (3 * bytes(row.value));
  }
  int64_t find(const Row& row, uint64_t hash) const {
    const auto [begin, end] = by_hash_.equal_range(hash);
    for (auto known = begin; known != end; ++known) {
      const auto first = rows_.row_begin[known->second], last = rows_.row_begin[known->second + 1];
      if (std::equal(row.index.begin(), row.index.end(), rows_.index.begin() + first, rows_.index.begin() + last) &&
          std::equal(row.value.begin(), row.value.end(), rows_.value.begin() + first, rows_.value.begin() + last))
        return known->second;
    }
    return -1;
  }

  // Indexes the rows by attribute, or stores dense vectors if rows have many attributes.
  void arrange() {
    const auto entries = static_cast<int64_t>(rows_.index.size());
    if (attributes_ > 0 && entries >= size() * attributes_ / kDense) {
      dense_.assign(size() * attributes_, 0.0);
      for (int64_t s = 0; s < size(); ++s)
        for (int64_t k = rows_.row_begin[s]; k < rows_.row_begin[s + 1]; ++k)
          dense_[s * attributes_ + rows_.index[k]] = rows_.value[k];
      return;
    }
    posting_begin_.assign(attributes_ + 1, 0);
    for (const int32_t a : rows_.index) ++posting_begin_[a + 1];
    std::partial_sum(posting_begin_.begin(), posting_begin_.end(), posting_begin_.begin());
    std::vector<int64_t> next = posting_begin_;
    posting_.resize(entries);
    posting_value_.resize(entries);
    for (int64_t s = 0; s < size(); ++s)
      for (int64_t k = rows_.row_begin[s]; k < rows_.row_begin[s + 1]; ++k) {
        const int64_t p = next[rows_.index[k]]++;
        posting_[p] = static_cast<int32_t>(s);
        posting_value_[p] = rows_.value[k];
      }
  }

  Tokens rows_;  // one example per row
  std::vector<int64_t> origin_;
  std::vector<double> square_;
  int64_t attributes_ = 0;
  std::unordered_multimap<uint64_t, int64_t> by_hash_;
  std::vector<int64_t> posting_begin_;
  std::vector<int32_t> posting_;
  std::vector<double> posting_value_;
  std::vector<double> dense_;
};

class GramSource {
 public:
  virtual ~GramSource() = default;
  virtual int64_t rows() const = 0;
  virtual int64_t columns() const = 0;
  virtual void fill(int64_t row, double* out) const = 0;
};

// K between inputs and support inputs.
class ComputedGram final : public GramSource {
 public:
  ComputedGram(KernelFunction kernel, std::shared_ptr<const Inputs> inputs, std::shared_ptr<const Inputs> support)
      : kernel_(kernel), inputs_(std::move(inputs)), support_(std::move(support)) {
    kernel_.check();
  }

  int64_t rows() const override { return inputs_->size(); }
  int64_t columns() const override { return support_->size(); }
  void fill(int64_t row, double* out) const override {
    support_->inner(*inputs_, row, out);
    if (kernel_.kind == KernelFunction::kLinear) return;
    const double square = inputs_->square(row);
    for (int64_t s = 0; s < columns(); ++s) out[s] = kernel_(out[s], square, support_->square(s));
  }

 private:
  KernelFunction kernel_;
  std::shared_ptr<const Inputs> inputs_;
  std::shared_ptr<const Inputs> support_;
};

// Precomputed: an input's vector contains its kernel values with all training inputs, some of which are support inputs.
class GivenGram final : public GramSource {
 public:
  GivenGram(std::shared_ptr<const Inputs> inputs, const std::vector<int64_t>& support)
      : inputs_(std::move(inputs)), columns_(static_cast<int64_t>(support.size())) {
    for (size_t s = 0; s < support.size(); ++s)
      if (support[s] < 0 || !place_.emplace(support[s], s).second)
        throw InputError("the columns of support inputs must be distinct and not negative.");
  }

  int64_t rows() const override { return inputs_->size(); }
  int64_t columns() const override { return columns_; }
  void fill(int64_t row, double* out) const override {
    std::fill(out, out + columns_, 0.0);
    const Tokens& given = inputs_->rows();
    const auto r = static_cast<size_t>(row);
    for (auto k = static_cast<size_t>(given.row_begin[r]); k < static_cast<size_t>(given.row_begin[r + 1]); ++k)
      if (const auto found = place_.find(given.index[k]); found != place_.end()) out[found->second] = given.value[k];
  }

 private:
  std::shared_ptr<const Inputs> inputs_;
  int64_t columns_;
  std::unordered_map<int64_t, size_t> place_;  // index of a column among the support inputs
};

// The rows of a Gram matrix, each computed on first use. If they do not all fit into the allowed memory, the least
// recently used one is evicted. Thread-safe.
class Gram {
 public:
  class Line {
   public:
    Line(const GramSource& source, int64_t row, bool single) : wide_(static_cast<size_t>(source.columns())) {
      source.fill(row, wide_.data());
      if (!single) return;
      narrow_.assign(wide_.begin(), wide_.end());
      wide_ = {};
    }
    double operator[](int64_t s) const {
      const auto k = static_cast<size_t>(s);
      return narrow_.empty() ? wide_[k] : static_cast<double>(narrow_[k]);
    }
    void gather(const int32_t* columns, int64_t n, double* out) const {
      if (narrow_.empty())
        for (int64_t k = 0; k < n; ++k) out[k] = wide_[columns[k]];
      else
        for (int64_t k = 0; k < n; ++k) out[k] = static_cast<double>(narrow_[columns[k]]);
    }

   private:
    std::vector<double> wide_;
    std::vector<float> narrow_;
  };
  using Held = std::shared_ptr<const Line>;

  Gram(std::unique_ptr<const GramSource> source, bool single, int64_t bytes)
      : source_(std::move(source)),
        single_(single),
        most_(std::max<int64_t>(1, bytes / std::max<int64_t>(1, source_->columns() * (single ? 4 : 8)))),
        slots_(static_cast<size_t>(source_->rows())) {}

  int64_t rows() const { return source_->rows(); }
  int64_t columns() const { return source_->columns(); }

  Held row(int64_t r) const {
    Slot& slot = slots_[r];
    {
      const std::lock_guard lock(mutex_);
      if (slot.line) {
        recent_.splice(recent_.begin(), recent_, slot.place);
        return slot.line;
      }
    }
    Held line = std::make_shared<const Line>(*source_, r, single_);  // two threads may compute the same row, which is
                                                                     // harmless
    const std::lock_guard lock(mutex_);
    if (slot.line) return slot.line;
    if (static_cast<int64_t>(recent_.size()) == most_) {
      slots_[recent_.back()].line.reset();
      recent_.pop_back();
    }
    recent_.push_front(r);
    slot = {line, recent_.begin()};
    return line;
  }

 private:
  struct Slot {
    Held line;
    std::list<int64_t>::iterator place;
  };

  std::unique_ptr<const GramSource> source_;
  bool single_;
  int64_t most_;  // maximum number of rows kept
  mutable std::mutex mutex_;
  mutable std::vector<Slot> slots_;
  mutable std::list<int64_t> recent_;  // kept rows, most recent first
};

// Weights: [coefficients a of (support input, label)][weights of the rest].
class KernelFeatures final : public Features {
 public:
  // number: the row of the Gram matrix for each token. own: rows and columns of the matrix are the same inputs.
  // Otherwise only scores are available, since nothing else lies in the span of the support inputs. rest: the features
  // whose scores are added to those of the kernel. first_parts: where the (position, label) parts of each example
  // begin; empty: at 0.
  KernelFeatures(std::shared_ptr<const Gram> gram, std::vector<int64_t> number, std::vector<int64_t> example_begin,
                 int64_t labels, bool own, std::shared_ptr<const Features> rest, std::vector<int64_t> first_parts = {})
      : gram_(std::move(gram)),
        number_(std::move(number)),
        begin_(std::move(example_begin)),
        labels_(labels),
        own_(own),
        rest_(std::move(rest)),
        first_parts_(std::move(first_parts)) {
    if (labels < 1) throw InputError("at least one label is needed.");
    if (rest_->size() != size() || begin_.back() != static_cast<int64_t>(number_.size()))
      throw InputError("a kernel's inputs and the rest of the features must be of the same examples.");
    if (first_parts_.empty()) first_parts_.assign(size(), 0);
    if (static_cast<int64_t>(first_parts_.size()) != size())
      throw InputError("a kernel must know the first part of each example.");
    for (int64_t i = 0; i < size(); ++i)
      if (first_parts_[i] < 0 || rest_->parts(i) - first_parts_[i] < (begin_[i + 1] - begin_[i]) * labels)
        throw InputError("example " + std::to_string(i) + " has fewer parts than positions with labels.");
    for (const int64_t row : number_)
      if (row < 0 || row >= gram_->rows()) throw InputError("an input is out of the Gram matrix's range.");
  }

  int64_t size() const override { return static_cast<int64_t>(begin_.size()) - 1; }
  int64_t dim() const override { return coefficients() + rest_->dim(); }
  int64_t parts(int64_t i) const override { return rest_->parts(i); }
  bool euclidean() const override { return false; }

  void score(int64_t i, const double* w, double* theta) const override {
    rest_->score(i, w + coefficients(), theta);
    std::vector<Gram::Held> rows;
    for (int64_t t = begin_[i]; t < begin_[i + 1]; ++t) rows.push_back(gram_->row(number_[t]));
    add_scores(w, rows, theta + first_parts_[i]);
  }

  void scatter(int64_t i, const double* mu, double c, double* g) const override {
    expect_own();
    rest_->scatter(i, mu, c, g + coefficients());
    mu += first_parts_[i];
    for (int64_t t = begin_[i]; t < begin_[i + 1]; ++t, mu += labels_) {
      double* a = g + number_[t] * labels_;
      for (int64_t l = 0; l < labels_; ++l) a[l] += c * mu[l];
    }
  }

  // 1/2 |w + c A'v|^2 - 1/2 |w|^2 = c <A w, v> + 1/2 c^2 <A A'v, v>
  double move(int64_t i, const double* all, double c, double* w) const override {
    expect_own();
    const double* const v = all + first_parts_[i];
    const int64_t first = begin_[i], length = begin_[i + 1] - first;
    std::vector<Gram::Held> rows(length);  // null where nothing moves
    for (int64_t t = 0; t < length; ++t)
      if (std::any_of(v + t * labels_, v + (t + 1) * labels_, [](double x) { return x != 0; }))
        rows[t] = gram_->row(number_[first + t]);
    std::vector<double> theta(length * labels_, 0.0);
    add_scores(w, rows, theta.data());
    double change = c * loops().dot(theta.data(), v, length * labels_);
    for (int64_t t = 0; t < length; ++t) {
      if (!rows[t]) continue;
      for (int64_t u = 0; u <= t; ++u) {
        if (!rows[u]) continue;
        const double inner = small_dot(v + t * labels_, v + u * labels_);
        change += (t == u ? 0.5 : 1.0) * c * c * inner * (*rows[t])[number_[first + u]];
      }
      double* a = w + number_[first + t] * labels_;
      for (int64_t l = 0; l < labels_; ++l) a[l] += c * v[t * labels_ + l];
    }
    return change + rest_->move(i, all, c, w + coefficients());
  }

  void row(int64_t i, const double* v, Row& row) const override {
    expect_own();
    std::vector<std::pair<int64_t, double>> entries;
    rest_->row(i, v, row);
    for (size_t k = 0; k < row.index.size(); ++k) entries.emplace_back(coefficients() + row.index[k], row.value[k]);
    v += first_parts_[i];
    for (int64_t t = begin_[i]; t < begin_[i + 1]; ++t, v += labels_)
      for (int64_t l = 0; l < labels_; ++l)
        if (v[l] != 0) entries.emplace_back(number_[t] * labels_ + l, v[l]);
    merge_entries(entries, row);
  }

  // a'K b, plus the inner product of the rest.
  double dot(const double* u, const double* v) const override {
    expect_own();
    const std::vector<int32_t> used = used_inputs(u);
    double sum = rest_->dot(u + coefficients(), v + coefficients());
    std::vector<Gram::Held> rows;
    std::vector<double> theta;
    for (size_t from = 0; from < used.size(); from += kTogether) {
      const size_t to = std::min(from + kTogether, used.size());
      rows.clear();
      for (size_t k = from; k < to; ++k) rows.push_back(gram_->row(used[k]));
      theta.assign((to - from) * static_cast<size_t>(labels_), 0.0);
      add_scores(v, rows, theta.data());
      for (size_t k = from; k < to; ++k)
        sum += small_dot(u + used[k] * labels_, theta.data() + static_cast<int64_t>(k - from) * labels_);
    }
    return sum;
  }

  // With d_t the difference of two outputs' labels at t, |sum_t phi(x_t) d_t'|^2 = sum_tu K_tu <d_t, d_u>, and the
  // inner products of the d are from -2 to 2.
  double radius(int64_t i) const override {
    expect_own();
    double total = 0;
    for (int64_t t = begin_[i]; t < begin_[i + 1]; ++t) {
      const Gram::Held row = gram_->row(number_[t]);
      for (int64_t u = begin_[i]; u < begin_[i + 1]; ++u) total += std::fabs((*row)[number_[u]]);
    }
    const double rest = rest_->radius(i);
    return std::sqrt(2 * total + rest * rest);
  }

 private:
  static constexpr int64_t kChunk = 512;   // support inputs whose coefficients stay in the L1 cache
  static constexpr size_t kTogether = 64;  // rows per batch

  int64_t coefficients() const { return gram_->columns() * labels_; }
  void expect_own() const {
    if (!own_)
      throw InputError(
          "this problem has inputs that are not among the support inputs of its kernel, so it can only score.");
  }
  double small_dot(const double* x, const double* y) const {
    double sum = 0;
    for (int64_t l = 0; l < labels_; ++l) sum += x[l] * y[l];
    return sum;
  }

  std::vector<int32_t> used_inputs(const double* a) const {
    std::vector<int32_t> used;
    for (int64_t s = 0; s < gram_->columns(); ++s, a += labels_)
      if (std::any_of(a, a + labels_, [](double x) { return x != 0; })) used.push_back(static_cast<int32_t>(s));
    return used;
  }

  // theta (rows, labels) += K a, for the non-null rows.
  void add_scores(const double* a, const std::vector<Gram::Held>& rows, double* theta) const {
    const std::vector<int32_t> used = used_inputs(a);
    std::vector<double> values(kChunk);
    std::vector<double> partial(labels_);
    const WeightRows shape{gram_->columns(), labels_, gram_->columns() * labels_, nullptr};
    for (int64_t from = 0; from < static_cast<int64_t>(used.size()); from += kChunk) {
      const int32_t* columns = used.data() + from;
      const int64_t bounds[] = {0, std::min(kChunk, static_cast<int64_t>(used.size()) - from)};
      for (size_t r = 0; r < rows.size(); ++r) {
        if (!rows[r]) continue;
        rows[r]->gather(columns, bounds[1], values.data());
        loops().score_rows({bounds, columns, values.data(), nullptr}, shape, 0, 1, a, partial.data());
        for (size_t l = 0; l < partial.size(); ++l) theta[r * partial.size() + l] += partial[l];
      }
    }
  }

  std::shared_ptr<const Gram> gram_;
  std::vector<int64_t> number_;
  std::vector<int64_t> begin_;
  int64_t labels_;
  bool own_;
  std::shared_ptr<const Features> rest_;
  std::vector<int64_t> first_parts_;
};

}  // namespace margrave
