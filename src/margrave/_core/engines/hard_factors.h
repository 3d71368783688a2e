// Messages of hard factors without their tables (001, section 2.2): by counting true literals, by the matrix-tree
// theorem, or over the listed tuples.
//
// Every literal has two logs: of its weight if true and if false. For either value, the message to a literal is the log
// of the sum, over the allowed labelings, of the products of the weights of all other literals, or the log of the
// largest product. Counting subtracts nothing, so -inf is harmless.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "engines/arborescence.h"
#include "engines/factor_graphs.h"
#include "engines/hypergraph.h"
#include "protocol/checks.h"

namespace margrave {

struct LiteralLogs {
  double yes, no;
};

template <bool Max>
double join_logs(double x, double y) {
  return Max ? std::max(x, y) : log_add(x, y);
}

// Exactly one, at most one, at least one, at most k true literals. Counts prefixes and suffixes. Counts are capped
// where they no longer differ (at least one) or are no longer allowed.
template <bool Max>
double count_messages(const std::vector<LiteralLogs>& in, int64_t least, int64_t most, std::vector<LiteralLogs>& out) {
  const auto n = static_cast<int64_t>(in.size());
  const bool open = most >= n;                       // no upper limit: counts from `least` on are equivalent
  const int64_t states = (open ? least : most) + 1;  // counts 0, ..., states - 1
  const auto next = [&](std::vector<double>& to, const double* from, const LiteralLogs& literal) {
    for (int64_t c = 0; c < states; ++c) {
      double value = from[c] + literal.no;
      if (c > 0) value = join_logs<Max>(value, from[c - 1] + literal.yes);
      if (open && c == states - 1) value = join_logs<Max>(value, from[c] + literal.yes);
      to[c] = value;
    }
  };
  const auto width = static_cast<size_t>(states);
  std::vector<double> before(static_cast<size_t>(n + 1) * width, -kInfinity), behind(before), row(width);
  before[0] = behind[static_cast<size_t>(n) * width] = 0;
  for (int64_t j = 0; j < n; ++j) {
    next(row, before.data() + static_cast<size_t>(j) * width, in[j]);
    std::copy(row.begin(), row.end(), before.begin() + (j + 1) * states);
  }
  for (int64_t j = n; j-- > 0;) {
    next(row, behind.data() + static_cast<size_t>(j + 1) * width, in[j]);
    std::copy(row.begin(), row.end(), behind.begin() + j * states);
  }
  const auto allowed = [&](int64_t count) { return count >= least && (open || count <= most); };
  out.resize(in.size());
  for (int64_t j = 0; j < n; ++j) {
    const double* const left = before.data() + static_cast<size_t>(j) * width;
    const double* const right = behind.data() + static_cast<size_t>(j + 1) * width;
    LiteralLogs& message = out[j];
    message = {-kInfinity, -kInfinity};
    if (least == 0) {  // sums of the right side up to a count serve all counts of the left one
      row[0] = right[0];
      for (int64_t c = 1; c < states; ++c) row[c] = join_logs<Max>(row[c - 1], right[c]);
      for (int64_t a = 0; a < states; ++a) {
        const int64_t rest = open ? states - 1 : most - a;
        message.no = join_logs<Max>(message.no, left[a] + row[rest]);
        if (open || rest > 0) message.yes = join_logs<Max>(message.yes, left[a] + row[open ? rest : rest - 1]);
      }
      continue;
    }
    for (int64_t a = 0; a < states; ++a)
      for (int64_t b = 0; b < states; ++b) {
        if (allowed(a + b)) message.no = join_logs<Max>(message.no, left[a] + right[b]);
        if (allowed(a + b + 1)) message.yes = join_logs<Max>(message.yes, left[a] + right[b]);
      }
  }
  double value = -kInfinity;
  for (int64_t c = 0; c < states; ++c)
    if (allowed(c)) value = join_logs<Max>(value, before[static_cast<size_t>(n) * width + static_cast<size_t>(c)]);
  return value;
}

// The literals are the arcs of dependency trees. Returns the log of the sum over all trees, or of the largest product.
// Sums also give the log-odds of all n * n arcs. A required arc rules out the other arcs into its word.
template <bool Max>
double tree_value(const HardFactor& hard, const std::vector<LiteralLogs>& in, std::vector<double>& odds) {
  const int n = hard.data[0];
  const bool single_root = hard.data[1] == 1;
  thread_local tree::Workspace workspace;
  std::vector<double> scores(static_cast<size_t>(n) * static_cast<size_t>(n), -kInfinity);
  std::vector<char> forced(static_cast<size_t>(n) + 1, 0);
  double base = 0;
  for (size_t j = 0; j < in.size(); ++j) {
    if (in[j].no > -kInfinity) {
      base += in[j].no;
      continue;
    }
    char& of_word = forced[hard.data[3 + 2 * j]];
    if (of_word || in[j].yes == -kInfinity) return -kInfinity;
    of_word = 1;
    base += in[j].yes;
  }
  for (size_t j = 0; j < in.size(); ++j) {
    const bool certain = in[j].no == -kInfinity;
    if (certain || !forced[hard.data[3 + 2 * j]])
      scores[tree::part(n, hard.data[2 + 2 * j], hard.data[3 + 2 * j])] = certain ? 0.0 : in[j].yes - in[j].no;
  }
  if constexpr (Max) {
    std::vector<int32_t> heads;
    return base + tree::argmax(n, scores.data(), single_root, workspace, heads);
  } else {
    odds.resize(scores.size());
    return base + tree::log_odds(n, scores.data(), single_root, workspace, odds.data());
  }
}

template <bool Max>
double tree_messages(const HardFactor& hard, const std::vector<LiteralLogs>& in, std::vector<LiteralLogs>& out) {
  std::vector<double> odds, ignored;
  const double value = tree_value<Max>(hard, in, odds);
  out.resize(in.size());
  for (size_t j = 0; j < in.size(); ++j) {
    if (!Max && value > -kInfinity && in[j].no > -kInfinity && in[j].yes > -kInfinity) {
      const double logit = odds[tree::part(hard.data[0], hard.data[2 + 2 * j], hard.data[3 + 2 * j])];
      out[j] = {value - log_add(0.0, -logit) - in[j].yes, value - log_add(0.0, logit) - in[j].no};
      continue;
    }
    std::vector<LiteralLogs> other = in;  // the message does not depend on the weights of the arc itself
    other[j] = {0.0, -kInfinity};
    out[j].yes = tree_value<Max>(hard, other, ignored);
    other[j] = {-kInfinity, 0.0};
    out[j].no = tree_value<Max>(hard, other, ignored);
  }
  return value;
}

}  // namespace margrave
