// The loops that every processor runs, on a few numbers, against plain formulas: for `make check-arm`.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "simd/loops.h"

namespace {

void expect_close(double found, double expected, const char* what) {
  if (std::fabs(found - expected) <= 1e-12 * (1 + std::fabs(expected))) return;
  std::fprintf(stderr, "%s: %.17g instead of %.17g\n", what, found, expected);
  std::exit(1);
}

double some(int64_t k) { return std::sin(static_cast<double>(k) * 1.7); }

// Two attributes with weights for every second and every third label, in one token.
void check_rows(const margrave::Loops& loops, int64_t labels) {
  std::vector<uint16_t> column;
  uint64_t span[2];
  for (int64_t a = 0; a < 2; ++a) {
    const uint64_t first = column.size();
    uint64_t bits = 0;
    for (int64_t l = 0; l < labels; l += a + 2) {
      column.push_back(static_cast<uint16_t>(l));
      bits |= uint64_t{1} << (l % margrave::kBits);
    }
    span[a] = first << margrave::kSpanBits | (labels <= margrave::kBits ? bits : column.size() - first);
  }
  const auto dim = static_cast<int64_t>(column.size());
  const int64_t begin[] = {0, 2};
  const int32_t index[] = {0, 1};
  const double value[] = {0.5, -2.0};
  const margrave::TokenRows x{begin, index, value, span};
  const margrave::WeightRows rows{2, labels, dim, column.data()};
  std::vector<double> w(static_cast<size_t>(dim)), mu(static_cast<size_t>(labels)), theta(mu.size()), scores(mu.size());
  for (int64_t k = 0; k < dim; ++k) w[static_cast<size_t>(k)] = some(k);
  for (int64_t l = 0; l < labels; ++l) mu[static_cast<size_t>(l)] = some(100 + l);
  std::vector<double> moved = w;
  loops.score_rows(x, rows, 0, 1, w.data(), theta.data());
  const double change = loops.move_rows(x, rows, 0, 1, mu.data(), 0.3, moved.data());
  double squares = 0;
  for (int64_t k = 0; k < dim; ++k) {
    const double x_k = value[k < static_cast<int64_t>(span[1] >> margrave::kSpanBits) ? 0 : 1];
    const size_t l = column[static_cast<size_t>(k)], j = static_cast<size_t>(k);
    scores[l] += x_k * w[j];
    expect_close(moved[j], w[j] + 0.3 * x_k * mu[l], "move_rows");
    squares += 0.5 * (moved[j] * moved[j] - w[j] * w[j]);
  }
  for (size_t l = 0; l < scores.size(); ++l) expect_close(theta[l], scores[l], "score_rows");
  expect_close(change, squares, "the change of move_rows");
}

void check_softmax(const margrave::Loops& loops, int64_t n) {
  std::vector<double> theta(static_cast<size_t>(n)), mu(theta.size());
  double total = 0;
  for (int64_t k = 0; k < n; ++k) total += std::exp(theta[static_cast<size_t>(k)] = 5 * some(k));
  expect_close(loops.softmax(theta.data(), n, mu.data()), std::log(total), "softmax");
  for (size_t k = 0; k < mu.size(); ++k) expect_close(mu[k], std::exp(theta[k]) / total, "softmax");
}

}  // namespace

int main() {
  for (int64_t n = 1; n <= 50; ++n) {
    check_rows(margrave::loops(), n);
    check_softmax(margrave::loops(), n);
  }
  std::printf("The loops named %s agree with plain formulas.\n", margrave::loops().name);
}
