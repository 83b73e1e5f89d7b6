"""Unfolding, unpooling, resampling."""
import torch.nn.functional as F

from golden import case

case("unfold2d", lambda r: r.real(2, 2, 5, 4), lambda x: F.unfold(x, (2, 3), padding=1, stride=(2, 1)))
case("fold2d", lambda r: r.real(2, 8, 12), lambda x: F.fold(x, (4, 5), (2, 2)))
case("pixel_shuffle", lambda r: r.real(1, 8, 2, 3), lambda x: F.pixel_shuffle(x, 2))
case("pixel_unshuffle", lambda r: r.real(1, 2, 4, 6), lambda x: F.pixel_unshuffle(x, 2))
for d, sizes in {1: (7,), 2: (6, 7), 3: (4, 5, 4)}.items():
    case(f"adaptive_max_pool{d}d", lambda r: r.real(1, 2, *sizes),
         lambda x: getattr(F, f"adaptive_max_pool{d}d")(x, (3, 2, 2)[:d], return_indices=True))
case("lp_pool2d", lambda r: r.real(1, 2, 4, 6, low=0.1), lambda x: F.lp_pool2d(x, 3.0, 2))
case("max_unpool2d", lambda r: r.real(1, 2, 4, 4), lambda x: F.max_unpool2d(*F.max_pool2d(x, 2, return_indices=True), 2))

RESAMPLE = {
    "nearest1d": ((5,), dict(size=8, mode="nearest")), "nearest": ((4, 5), dict(size=(7, 3), mode="nearest")),
    "nearest_exact": ((4, 5), dict(size=(7, 3), mode="nearest-exact")), "linear": ((5,), dict(size=8, mode="linear")),
    "linear.corners": ((5,), dict(size=8, mode="linear", align_corners=True)),
    "bilinear": ((4, 5), dict(size=(7, 3), mode="bilinear")),
    "bilinear.corners": ((4, 5), dict(size=(7, 3), mode="bilinear", align_corners=True)),
    "bilinear.scale": ((4, 5), dict(scale_factor=(1.6, 0.7), mode="bilinear")),
    "bilinear.antialias": ((8, 7), dict(size=(3, 4), mode="bilinear", antialias=True)),
    "bicubic": ((4, 5), dict(size=(7, 3), mode="bicubic")),
    "bicubic.corners": ((4, 5), dict(size=(7, 3), mode="bicubic", align_corners=True)),
    "bicubic.antialias": ((8, 7), dict(size=(3, 4), mode="bicubic", antialias=True)),
    "trilinear": ((3, 4, 2), dict(size=(4, 3, 5), mode="trilinear")),
    "nearest3d": ((3, 4, 2), dict(size=(4, 3, 5), mode="nearest")),
}
for name, (sizes, options) in RESAMPLE.items():
    case(f"interpolate.{name}", lambda r: r.real(1, 2, *sizes), lambda x: F.interpolate(x, **options))
for mode in ("nearest", "bilinear", "bicubic"):
    for padding in ("zeros", "border", "reflection"):
        case(f"grid_sample.{mode}.{padding}", lambda r: [r.real(1, 2, 4, 5), r.real(1, 3, 3, 2, low=-1.4, high=1.4)],
             lambda x, g: F.grid_sample(x, g, mode, padding, align_corners=False))
case("grid_sample.corners", lambda r: [r.real(1, 2, 4, 5), r.real(1, 3, 3, 2, low=-1.4, high=1.4)],
     lambda x, g: F.grid_sample(x, g, "bilinear", "zeros", align_corners=True))
case("grid_sample.3d", lambda r: [r.real(1, 2, 3, 4, 3), r.real(1, 2, 2, 2, 3, low=-1.2, high=1.2)],
     lambda x, g: F.grid_sample(x, g, "bilinear", "border", align_corners=False))
case("affine_grid", lambda r: r.real(1, 2, 3), lambda t: F.affine_grid(t, [1, 1, 3, 4], align_corners=False))
case("affine_grid.3d", lambda r: r.real(1, 3, 4), lambda t: F.affine_grid(t, [1, 1, 2, 3, 2], align_corners=True))
