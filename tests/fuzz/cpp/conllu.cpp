// CoNLL-U and CoNLL-X: reading, and writing with columns filled in.
#include "inputs/conllu.h"

#include "input.h"

using namespace margrave;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  return fuzz::tried(data, size, [](fuzz::Input& input) {
    const bool words_only = input.number(1) > 0, trees = input.number(1) > 0, key = input.number(1) > 0;
    const int64_t field = input.number(conllu::kFields - 1);
    const ConlluColumn column{key ? conllu::kMisc : field, key ? "NER=" : ""};
    const ConlluText parsed = parse_conllu(input.shared_rest(), {{1, ""}, column}, words_only, trees);
    const std::vector<int32_t> number(static_cast<size_t>(parsed.table.tokens()), 0);
    const std::vector<double> probability(static_cast<size_t>(parsed.table.tokens()), 1e60);
    conllu_lines(parsed, {{column, {"label"}, number.data()}}, probability.data());
  });
}
