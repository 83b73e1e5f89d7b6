"""Writes picture_figures.safetensors: pictures and files as Pillow makes them. Run with Pillow 13.0:  python3 picture_figures.py"""
import colorsys
import io
import pathlib

import numpy
import PIL
from PIL import Image, ImageEnhance, ImageOps
from safetensors.numpy import save_file

WIDTH, HEIGHT = 7, 5


def values(width, height, most=256, base=0):
    """What tests call pattern(height, width, most, base)."""
    return bytes(base + ((x * 37 + y * 91 + c * 53) * 17 + x * x * y * 3) % most
                 for y in range(height) for x in range(width) for c in range(3))


FIGURES = {}


def table(name, numbers):
    FIGURES[name] = numpy.array(list(numbers), dtype=numpy.uint8)


def file(name, image, form, **options):
    out = io.BytesIO()
    image.save(out, form, **options)
    table(name, out.getvalue())
    return Image.open(out)


image = Image.frombytes("RGB", (WIDTH, HEIGHT), values(WIDTH, HEIGHT))
table("smaller", image.resize((4, 3), Image.BILINEAR).tobytes())
table("larger", image.resize((9, 8), Image.BILINEAR).tobytes())
table("rotated_30", image.rotate(30, Image.BILINEAR).tobytes())
table("rotated_back", image.rotate(-90, Image.BILINEAR).tobytes())
table("sheared", image.transform((WIDTH, HEIGHT), Image.AFFINE, (1, 0.3, -0.75, 0, 1, 0), Image.BILINEAR).tobytes())
table("grey", image.convert("L").tobytes())
table("brighter", ImageEnhance.Brightness(image).enhance(1.4).tobytes())
table("less_contrast", ImageEnhance.Contrast(image).enhance(0.5).tobytes())
table("more_contrast", ImageEnhance.Contrast(image).enhance(1.7).tobytes())
table("more_colour", ImageEnhance.Color(image).enhance(1.5).tobytes())
table("smoother", ImageEnhance.Sharpness(image).enhance(0.2).tobytes())
table("posterized", ImageOps.posterize(image, 3).tobytes())
table("solarized", ImageOps.solarize(image, 100).tobytes())
table("autocontrasted",
      ImageOps.autocontrast(Image.frombytes("RGB", (20, 15), values(20, 15, 120, 60))).crop((0, 0, 5, 2)).tobytes())
table("equalized",
      ImageOps.equalize(Image.frombytes("RGB", (40, 30), values(40, 30, 120, 60))).crop((0, 0, 5, 2)).tobytes())
turned, rgb = [], image.tobytes()
for i in range(0, len(rgb), 3):  # Pillow has no change of hue; Python's colorsys has the transform
    h, s, v = colorsys.rgb_to_hsv(*(c / 255 for c in rgb[i:i + 3]))
    turned += [round(c * 255) for c in colorsys.hsv_to_rgb((h + 0.2) % 1, s, v)]
table("turned", turned)

small = image.crop((0, 0, 3, 2))
file("png", small, "PNG")
table("png_pixels", small.tobytes())
palette = small.quantize(4)
file("palette_png", palette, "PNG")
table("palette_pixels", palette.convert("RGB").tobytes())
table("palette_numbers", palette.tobytes())
file("mask", Image.frombytes("L", (2, 1), bytes([7, 200])), "PNG")
file("png_16", Image.frombytes("I;16", (2, 1), bytes([0, 0, 0x34, 0x12])), "PNG")
file("transparent_png", Image.frombytes("RGBA", (2, 1), bytes([10, 20, 30, 0, 200, 100, 50, 128])), "PNG")
ramp = Image.new("RGB", (8, 8))
ramp.putdata([(x * 30, y * 30, 128) for y in range(8) for x in range(8)])
table("jpeg_pixels", file("jpeg", ramp, "JPEG", quality=90, subsampling=0, optimize=True).convert("RGB").tobytes())
save_file(FIGURES, pathlib.Path(__file__).with_suffix(".safetensors"), metadata={"pillow": PIL.__version__})
