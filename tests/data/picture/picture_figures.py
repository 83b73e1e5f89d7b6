"""Writes figures.hpp: pictures and files as Pillow makes them. Run with Pillow 13.0:  python3 picture_figures.py > figures.hpp"""
import colorsys
import io

from PIL import Image, ImageEnhance, ImageOps

WIDTH, HEIGHT = 7, 5


def values(width, height, most=256, base=0):
    """What tests call pattern(height, width, most, base)."""
    return bytes(base + ((x * 37 + y * 91 + c * 53) * 17 + x * x * y * 3) % most
                 for y in range(height) for x in range(width) for c in range(3))


def table(name, numbers):
    print(f"inline constexpr std::uint8_t {name}[] = {{")
    numbers = list(numbers)
    for i in range(0, len(numbers), 24):
        print("    " + ", ".join(map(str, numbers[i:i + 24])) + ",")
    print("};")


def file(name, image, form, **options):
    out = io.BytesIO()
    image.save(out, form, **options)
    table(name, out.getvalue())
    return Image.open(out)


print("// Made by picture_figures.py with Pillow.\n#pragma once\n#include <cstdint>\n\n// clang-format off\nnamespace kiln::test {\n")
image = Image.frombytes("RGB", (WIDTH, HEIGHT), values(WIDTH, HEIGHT))
table("kSmaller", image.resize((4, 3), Image.BILINEAR).tobytes())
table("kLarger", image.resize((9, 8), Image.BILINEAR).tobytes())
table("kRotated30", image.rotate(30, Image.BILINEAR).tobytes())
table("kRotatedBack", image.rotate(-90, Image.BILINEAR).tobytes())
table("kSheared", image.transform((WIDTH, HEIGHT), Image.AFFINE, (1, 0.3, -0.75, 0, 1, 0), Image.BILINEAR).tobytes())
table("kGrey", image.convert("L").tobytes())
table("kBrighter", ImageEnhance.Brightness(image).enhance(1.4).tobytes())
table("kLessContrast", ImageEnhance.Contrast(image).enhance(0.5).tobytes())
table("kMoreContrast", ImageEnhance.Contrast(image).enhance(1.7).tobytes())
table("kMoreColour", ImageEnhance.Color(image).enhance(1.5).tobytes())
table("kSmoother", ImageEnhance.Sharpness(image).enhance(0.2).tobytes())
table("kPosterized", ImageOps.posterize(image, 3).tobytes())
table("kSolarized", ImageOps.solarize(image, 100).tobytes())
table("kAutocontrasted",
      ImageOps.autocontrast(Image.frombytes("RGB", (20, 15), values(20, 15, 120, 60))).crop((0, 0, 5, 2)).tobytes())
table("kEqualized",
      ImageOps.equalize(Image.frombytes("RGB", (40, 30), values(40, 30, 120, 60))).crop((0, 0, 5, 2)).tobytes())
turned, rgb = [], image.tobytes()
for i in range(0, len(rgb), 3):  # Pillow has no change of hue; Python's colorsys has the transform
    h, s, v = colorsys.rgb_to_hsv(*(c / 255 for c in rgb[i:i + 3]))
    turned += [round(c * 255) for c in colorsys.hsv_to_rgb((h + 0.2) % 1, s, v)]
table("kTurned", turned)

small = image.crop((0, 0, 3, 2))
file("kPng", small, "PNG")
table("kPngPixels", small.tobytes())
palette = small.quantize(4)
file("kPalettePng", palette, "PNG")
table("kPalettePixels", palette.convert("RGB").tobytes())
table("kPaletteNumbers", palette.tobytes())
file("kMask", Image.frombytes("L", (2, 1), bytes([7, 200])), "PNG")
file("kPng16", Image.frombytes("I;16", (2, 1), bytes([0, 0, 0x34, 0x12])), "PNG")
file("kTransparentPng", Image.frombytes("RGBA", (2, 1), bytes([10, 20, 30, 0, 200, 100, 50, 128])), "PNG")
ramp = Image.new("RGB", (8, 8))
ramp.putdata([(x * 30, y * 30, 128) for y in range(8) for x in range(8)])
table("kJpegPixels", file("kJpeg", ramp, "JPEG", quality=90, subsampling=0, optimize=True).convert("RGB").tobytes())
print("\n}  // namespace kiln::test\n// clang-format on")
