// A pass over a plan: tells steps whose results will have left the caches when somebody reads them to write these past the
// caches (streaming, or non-temporal, stores).
#pragma once
#include "kiln/fusion/plan.hpp"

namespace kiln::fusion {

/// Marks the fused steps whose results nobody reads within the plan, where these are more than `most_cached` bytes: what
/// an optimizer does to a large model. To be called before steps are joined.
void mark_streaming(Plan& plan, const Segment& segment, std::int64_t most_cached);

}  // namespace kiln::fusion
