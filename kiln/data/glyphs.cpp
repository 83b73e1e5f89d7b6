#include "kiln/data/glyphs.hpp"

#include <array>

namespace kiln {
namespace {

constexpr bool kCorner = true;

// clang-format off
const std::array<std::vector<Glyph>, 10>& all_glyphs() {
  static const std::array<std::vector<Glyph>, 10> glyphs = {{
      {
          // 0: round
          {{{.52f, .10f}, {.32f, .20f}, {.23f, .50f}, {.32f, .80f}, {.50f, .90f}, {.68f, .80f}, {.77f, .50f},
            {.68f, .20f}, {.50f, .10f}}},
          // narrow
          {{{.54f, .10f}, {.38f, .22f}, {.32f, .52f}, {.38f, .80f}, {.50f, .90f}, {.62f, .78f}, {.68f, .48f},
            {.62f, .20f}, {.52f, .11f}}},
          // begun at the right, its end crosses over the top
          {{{.66f, .20f}, {.48f, .11f}, {.28f, .26f}, {.24f, .58f}, {.38f, .87f}, {.60f, .86f}, {.76f, .62f},
            {.74f, .32f}, {.58f, .13f}, {.44f, .14f}}},
      },
      {
          // 1: a stroke
          {{{.50f, .10f}, {.50f, .50f}, {.50f, .90f}}},
          // with a flag
          {{{.36f, .28f}, {.46f, .19f}, {.54f, .10f, kCorner}, {.53f, .50f}, {.52f, .90f}}},
          // with a flag and a foot
          {{{.37f, .27f}, {.45f, .19f}, {.52f, .10f, kCorner}, {.51f, .50f}, {.51f, .89f}},
           {{.33f, .89f}, {.52f, .89f}, {.70f, .88f}}},
      },
      {
          // 2: round above a straight base
          {{{.26f, .30f}, {.34f, .14f}, {.52f, .10f}, {.69f, .20f}, {.68f, .40f}, {.50f, .62f}, {.26f, .86f, kCorner},
            {.50f, .86f}, {.76f, .85f}}},
          // with a loop at the lower left
          {{{.28f, .26f}, {.42f, .11f}, {.62f, .13f}, {.69f, .32f}, {.56f, .58f}, {.36f, .82f}, {.25f, .86f},
            {.25f, .75f}, {.38f, .74f}, {.56f, .85f}, {.77f, .84f}}},
          // with a wavy base
          {{{.27f, .26f}, {.40f, .12f}, {.58f, .11f}, {.69f, .26f}, {.62f, .46f}, {.43f, .68f}, {.25f, .87f, kCorner},
            {.40f, .81f}, {.58f, .87f}, {.76f, .80f}}},
      },
      {
          // 3: two bowls
          {{{.28f, .20f}, {.46f, .10f}, {.66f, .19f}, {.65f, .37f}, {.46f, .47f, kCorner}, {.68f, .54f}, {.73f, .72f},
            {.56f, .89f}, {.38f, .89f}, {.25f, .78f}}},
          // the waist a small loop
          {{{.29f, .18f}, {.48f, .10f}, {.66f, .20f}, {.60f, .40f}, {.45f, .48f}, {.43f, .44f}, {.52f, .46f},
            {.70f, .58f}, {.70f, .78f}, {.50f, .90f}, {.27f, .80f}}},
          // a flat top
          {{{.27f, .12f}, {.48f, .11f}, {.70f, .11f, kCorner}, {.58f, .26f}, {.46f, .42f, kCorner}, {.66f, .48f},
            {.74f, .66f}, {.60f, .87f}, {.40f, .90f}, {.25f, .80f}}},
      },
      {
          // 4: open
          {{{.34f, .12f}, {.30f, .34f}, {.25f, .58f, kCorner}, {.50f, .58f}, {.76f, .56f}},
           {{.64f, .10f}, {.62f, .50f}, {.60f, .90f}}},
          // closed
          {{{.60f, .90f}, {.61f, .50f}, {.62f, .10f, kCorner}, {.42f, .38f}, {.22f, .64f, kCorner}, {.50f, .64f},
            {.80f, .63f}}},
          // open, with a round left side, in one bend
          {{{.30f, .13f}, {.25f, .36f}, {.31f, .52f}, {.48f, .54f}, {.66f, .48f}}, {{.67f, .11f}, {.66f, .50f}, {.62f, .90f}}},
      },
      {
          // 5: body first, then the hat
          {{{.34f, .12f}, {.32f, .28f}, {.30f, .44f, kCorner}, {.48f, .39f}, {.68f, .48f}, {.73f, .67f}, {.60f, .86f},
            {.40f, .89f}, {.25f, .80f}},
           {{.34f, .12f}, {.52f, .12f}, {.72f, .10f}}},
          // in one go
          {{{.72f, .11f}, {.54f, .12f}, {.37f, .12f, kCorner}, {.34f, .28f}, {.31f, .46f, kCorner}, {.52f, .41f},
            {.70f, .54f}, {.70f, .74f}, {.52f, .89f}, {.27f, .84f}}},
          // in one go, its corners rounded
          {{{.72f, .12f}, {.50f, .11f}, {.37f, .18f}, {.34f, .34f}, {.44f, .42f}, {.62f, .49f}, {.71f, .65f}, {.62f, .83f},
            {.44f, .90f}, {.26f, .82f}}},
      },
      {
          // 6: a swung stem
          {{{.64f, .10f}, {.44f, .22f}, {.30f, .46f}, {.27f, .70f}, {.38f, .88f}, {.58f, .88f}, {.71f, .74f}, {.64f, .57f},
            {.46f, .54f}, {.30f, .68f}}},
          // a straight stem
          {{{.52f, .10f}, {.40f, .36f}, {.29f, .66f}, {.33f, .85f}, {.52f, .90f}, {.69f, .78f}, {.66f, .62f}, {.50f, .57f},
            {.32f, .67f}}},
          // a large bowl, closed low
          {{{.70f, .16f}, {.50f, .14f}, {.32f, .34f}, {.26f, .62f}, {.36f, .86f}, {.58f, .89f}, {.74f, .72f}, {.66f, .52f},
            {.48f, .48f}, {.29f, .60f}}},
      },
      {
          // 7: plain
          {{{.25f, .13f}, {.50f, .13f}, {.75f, .12f, kCorner}, {.58f, .50f}, {.44f, .90f}}},
          // with a bar
          {{{.25f, .14f}, {.50f, .14f}, {.74f, .12f, kCorner}, {.60f, .48f}, {.45f, .90f}},
           {{.36f, .51f}, {.54f, .50f}, {.72f, .49f}}},
          // with a hook at the left and a bent stem
          {{{.25f, .24f}, {.27f, .13f, kCorner}, {.50f, .15f}, {.74f, .12f, kCorner}, {.60f, .32f}, {.51f, .58f}, {.49f, .90f}}},
      },
      {
          // 8: in one go, from the upper right
          {{{.66f, .20f}, {.50f, .10f}, {.33f, .20f}, {.36f, .38f}, {.54f, .50f}, {.70f, .66f}, {.66f, .84f}, {.48f, .90f},
            {.30f, .82f}, {.30f, .65f}, {.46f, .50f}, {.62f, .38f}, {.68f, .24f}, {.60f, .13f}}},
          // two rings
          {{{.50f, .10f}, {.34f, .20f}, {.35f, .39f}, {.50f, .48f}, {.65f, .39f}, {.66f, .20f}, {.50f, .10f}},
           {{.50f, .48f}, {.30f, .59f}, {.30f, .79f}, {.50f, .90f}, {.70f, .79f}, {.70f, .59f}, {.50f, .48f}}},
          // begun at the crossing
          {{{.52f, .48f}, {.36f, .34f}, {.38f, .16f}, {.54f, .10f}, {.68f, .22f}, {.60f, .40f}, {.42f, .54f}, {.28f, .72f},
            {.38f, .88f}, {.58f, .88f}, {.68f, .72f}, {.58f, .54f}, {.48f, .45f}}},
      },
      {
          // 9: a ring with a straight stem
          {{{.68f, .22f}, {.50f, .10f}, {.32f, .22f}, {.33f, .42f}, {.50f, .50f}, {.66f, .38f}, {.69f, .18f, kCorner},
            {.67f, .54f}, {.64f, .90f}}},
          // its tail curled
          {{{.69f, .26f}, {.54f, .10f}, {.34f, .18f}, {.30f, .38f}, {.46f, .50f}, {.64f, .40f}, {.70f, .24f}, {.70f, .56f},
            {.60f, .84f}, {.42f, .90f}, {.28f, .80f}}},
          // its stem swung
          {{{.66f, .20f}, {.48f, .11f}, {.31f, .24f}, {.35f, .44f}, {.54f, .46f}, {.67f, .28f}, {.69f, .20f}, {.64f, .50f},
            {.54f, .74f}, {.42f, .90f}}},
      },
  }};
  return glyphs;
}
// clang-format on

}  // namespace

std::span<const Glyph> glyphs_of(int digit) { return all_glyphs()[static_cast<std::size_t>(digit)]; }

}  // namespace kiln
