"""Convolutions and pools."""
import torch.nn.functional as F

from golden import case

case("conv1d", lambda r: [r.real(2, 3, 7), r.real(4, 3, 3), r.real(4)], lambda x, w, b: F.conv1d(x, w, b, 2, 1))
case("conv2d", lambda r: [r.real(1, 2, 5, 6), r.real(3, 2, 3, 2), r.real(3)], lambda x, w, b: F.conv2d(x, w, b, 1, 1))
case("conv2d.groups", lambda r: [r.real(1, 4, 4, 4), r.real(4, 2, 2, 2)], lambda x, w: F.conv2d(x, w, groups=2))
case("conv2d.dilation", lambda r: [r.real(1, 1, 7, 6), r.real(2, 1, 3, 2)],
     lambda x, w: F.conv2d(x, w, stride=(2, 1), padding=(1, 2), dilation=(2, 3)))
case("conv3d", lambda r: [r.real(1, 2, 3, 4, 3), r.real(2, 2, 2, 2, 2)], lambda x, w: F.conv3d(x, w, padding=1))
case("conv_transpose1d", lambda r: [r.real(2, 3, 4), r.real(3, 2, 3), r.real(2)],
     lambda x, w, b: F.conv_transpose1d(x, w, b, 2, 1, 1))
case("conv_transpose2d", lambda r: [r.real(1, 4, 3, 3), r.real(4, 2, 3, 2)],
     lambda x, w: F.conv_transpose2d(x, w, stride=2, padding=(1, 0), groups=2, dilation=(1, 2)))
case("conv_transpose3d", lambda r: [r.real(1, 2, 2, 2, 3), r.real(2, 1, 2, 2, 2)], lambda x, w: F.conv_transpose3d(x, w))

for d, sizes in {1: (7,), 2: (6, 7), 3: (4, 5, 4)}.items():
    case(f"max_pool{d}d", lambda r: r.real(1, 2, *sizes),
         lambda x: getattr(F, f"max_pool{d}d")(x, 3, 2, 1, return_indices=True))
    case(f"avg_pool{d}d", lambda r: r.real(1, 2, *sizes), lambda x: getattr(F, f"avg_pool{d}d")(x, 3, 2, 1))
    case(f"adaptive_avg_pool{d}d", lambda r: r.real(1, 2, *sizes),
         lambda x: getattr(F, f"adaptive_avg_pool{d}d")(x, (3, 2, 2)[:d]))
case("max_pool2d.ceil", lambda r: r.real(1, 1, 6, 6), lambda x: F.max_pool2d(x, 3, 2, ceil_mode=True))
case("max_pool2d.dilation", lambda r: r.real(1, 1, 7, 7), lambda x: F.max_pool2d(x, 2, 1, dilation=3))
case("avg_pool2d.exclusive", lambda r: r.real(1, 1, 6, 6),
     lambda x: F.avg_pool2d(x, 3, 2, 1, ceil_mode=True, count_include_pad=False))
