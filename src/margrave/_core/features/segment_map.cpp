// Python bindings of the features of labeled segmentations.
#include "features/segment_map.h"

#include <memory>
#include <utility>
#include <vector>

#include "bindings/binding.h"
#include "protocol/checks.h"
#include "protocol/features.h"

namespace margrave {

static void bind(nb::module_& m) {
  after<Features>();
  nb::class_<SegmentMap, Features>(m, "SegmentMap");
  m.def(
      "segment_map",
      [](const SemiMarkovStructure& structure, std::shared_ptr<Table> tokens, std::shared_ptr<Table> spans,
         const In<int64_t>& pair_weight, int64_t pair_weights, double scale, bool start,
         bool stop) -> std::shared_ptr<SegmentMap> {
        if (!tokens) throw InputError("segments need features of tokens.");
        checked_count(pair_weights, "weights of pairs");
        std::vector<int64_t> lengths;
        for (int64_t i = 0; i < structure.size(); ++i) lengths.push_back(structure.length(i));
        return std::make_shared<SegmentMap>(
            structure.segments(), structure.tags(), std::move(lengths), std::move(tokens), std::move(spans),
            SegmentMap::Settings{to_vector(pair_weight), pair_weights, structure.tied(), scale, start, stop});
      },
      "structure"_a, "tokens"_a, "spans"_a.none(), "pair_weight"_a, "pair_weights"_a, "scale"_a, "start"_a, "stop"_a,
      "Scores of segments: those of their tokens under their tags, those of spans under their labels (optional), and "
      "one weight per pair of neighboring labels.");
}

static const Registration registration(bind);

}  // namespace margrave
