// SimOTA: which cells of a detector are to learn which boxes (Ge et al., "YOLOX", 2021, after "OTA: optimal transport
// assignment for object detection", 2021). A box takes the cells near its middle whose prediction costs least, as many as
// their overlaps with it sum up to. On the host, for one picture.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "kiln/data/picture/folder.hpp"
#include "models/detection/yolox.hpp"

namespace kiln::models {

/// A cell that is to learn a box.
struct Assigned {
  std::int64_t cell = 0;
  std::size_t box = 0;
  double overlap = 0;  // intersection by union of the cell's prediction and the box
};

struct SimOta {
  double radius = 1.5;        // cells are near whose middle is less than this many strides from the box's, each way
  std::int64_t most = 10;     // overlaps that are summed for each box
  double overlap_weight = 3;  // of -log(overlap) beside the cross entropy of the classes

  /// raw: the rows [cells, 5 + classes] of YoloxOutput::raw for one picture. Returns the cells in ascending order, each
  /// once. A box that lies more than `radius` strides outside of the picture has none. Labels are below `classes`.
  std::vector<Assigned> assign(std::span<const YoloxCells::Cell> cells, std::span<const float> raw,
                               std::int64_t classes, std::span<const Box> boxes) const;
};

}  // namespace kiln::models
