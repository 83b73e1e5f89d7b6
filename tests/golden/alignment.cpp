#include "kiln/ops/loss/ctc_transducer.hpp"

#include "tests/golden/golden.hpp"

namespace kiln::golden {
namespace {

const Rows kAlignment({
    {"ctc_loss", [](In in) { return ctc_loss(log_softmax(in[0], 2), in[1], in[2], in[3]); }},
    {"ctc_loss.sum", [](In in) { return ctc_loss(log_softmax(in[0], 2), in[1], in[2], in[3], {}, Reduction::Sum); }},
});

}  // namespace
}  // namespace kiln::golden
