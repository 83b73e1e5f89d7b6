"""Pictures of every kind that PNG and JPEG know, and what Pillow reads from them.

    picture_files.py write pictures.safetensors             the small set that files_test.cpp reads
    picture_files.py check pictures.safetensors PROGRAM     that set with this Pillow, and several sizes of all kinds with PROGRAM,
                                                            which is read_pictures

PNG files are written here chunk by chunk, JPEG files from random coefficients, some by Pillow; what jpegtran makes of those (progressive,
arithmetic, optimised) is left out where there is no jpegtran. Whatever has no numbers must be refused. Two rules are not Pillow's: of 16
bits the upper 8 are taken of grey as of colours, where Pillow cuts grey off at 255; and `numbers` are what the file keeps of a pixel."""
import io
import json
import pathlib
import random
import shutil
import struct
import subprocess
import sys
import tempfile
import warnings
import zlib

import numpy as np
from PIL import Image, ImageCms

GREY, COLOURS, PALETTE, GREY_ALPHA, COLOURS_ALPHA = 0, 2, 3, 4, 6
CHANNELS = {GREY: 1, COLOURS: 3, PALETTE: 1, GREY_ALPHA: 2, COLOURS_ALPHA: 4}
DEPTHS = {GREY: (1, 2, 4, 8, 16), COLOURS: (8, 16), PALETTE: (1, 2, 4, 8), GREY_ALPHA: (8, 16), COLOURS_ALPHA: (8, 16)}
NAMES = {GREY: "grey", COLOURS: "colours", PALETTE: "palette", GREY_ALPHA: "grey_alpha", COLOURS_ALPHA: "colours_alpha"}
ADAM7 = ((0, 0, 8, 8), (0, 4, 8, 8), (4, 0, 8, 4), (0, 2, 4, 4), (2, 0, 4, 2), (0, 1, 2, 2), (1, 0, 2, 1))  # y, x, steps


# PNG ---------------------------------------------------------------------------------------------------------------------------------

def chunk(kind, data=b""):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def filtered(rows, step, rng):
    """Rows of bytes, each by a filter drawn at random."""
    out, before = bytearray(), None
    for row in rows:
        row = row.astype(int)
        up = np.zeros_like(row) if before is None else before
        left, corner = np.zeros_like(row), np.zeros_like(row)
        left[step:], corner[step:] = row[:-step], up[:-step]
        a, b, c = abs(up - corner), abs(left - corner), abs(left + up - 2 * corner)
        paeth = np.where((a <= b) & (a <= c), left, np.where(b <= c, up, corner))
        kind = rng.randrange(5)
        out.append(kind)
        out += ((row - (np.zeros_like(row), left, up, (left + up) // 2, paeth)[kind]) % 256).astype(np.uint8).tobytes()
        before = row
    return bytes(out)


def packed(samples, depth):
    """[h, w, channels] of numbers to rows of bytes, high bits first."""
    h = samples.shape[0]
    flat = samples.reshape(h, -1)
    if depth == 16:
        return np.ascontiguousarray(flat.astype(">u2")).view(np.uint8).reshape(h, -1)
    bits = (flat[..., None] >> np.arange(depth - 1, -1, -1)) & 1
    return np.packbits(bits.reshape(h, -1).astype(np.uint8), axis=1)


def png(kind, depth, interlaced, size, rng, before=b"", after=b"", behind=b"", samples=None, colours=None, pieces=None, level=9,
        signature=b"\x89PNG\r\n\x1a\n"):
    """The file, and its samples. `before` and `after` are chunks around the palette, `behind` those after the pixels."""
    shape = (*size, CHANNELS[kind])
    if kind == PALETTE and colours is None:
        colours = np.array([[rng.randrange(256) for _ in range(3)] for _ in range(1 << depth)], np.uint8)
    if samples is None:
        most = len(colours) if kind == PALETTE else 1 << depth
        samples = np.array([rng.randrange(most) for _ in range(int(np.prod(shape)))]).reshape(shape)
    step = max(1, CHANNELS[kind] * depth // 8)
    raw = b""
    for y, x, dy, dx in ADAM7 if interlaced else ((0, 0, 1, 1),):
        part = samples[y::dy, x::dx]
        if part.size:
            raw += filtered(packed(part, depth), step, rng)
    data = zlib.compress(raw, level)
    pieces = pieces or len(data)
    out = signature + chunk(b"IHDR", struct.pack(">IIBBBBB", size[1], size[0], depth, kind, 0, 0, interlaced)) + before
    if colours is not None:
        out += chunk(b"PLTE", colours.tobytes())
    out += after + b"".join(chunk(b"IDAT", data[i:i + pieces]) for i in range(0, len(data), pieces)) + behind + chunk(b"IEND")
    return out, samples


def gamma(value):
    return chunk(b"gAMA", struct.pack(">I", round(value * 100000)))


def profile():
    """Of a space that is not sRGB, so that who applies it changes numbers."""
    return chunk(b"iCCP", b"lab\0\0" + zlib.compress(ImageCms.ImageCmsProfile(ImageCms.createProfile("LAB")).tobytes()))


def transparent(kind, depth, rng):
    if kind == PALETTE:
        return chunk(b"tRNS", bytes(rng.randrange(256) for _ in range(min(3, 1 << depth))))
    return chunk(b"tRNS", struct.pack(">" + "H" * CHANNELS[kind], *[rng.randrange(1 << depth) for _ in range(CHANNELS[kind])]))


def pngs(size, seed):
    """name: (file, samples)."""
    rng = random.Random(seed)
    out = {}
    for kind, depths in DEPTHS.items():
        for depth in depths:
            for interlaced in (0, 1):
                name = f"png_{NAMES[kind]}_{depth}" + "_interlaced" * interlaced
                out[name] = png(kind, depth, interlaced, size, rng)
            name = f"png_{NAMES[kind]}_{depth}"
            out[name + "_gamma"] = png(kind, depth, 0, size, rng, before=gamma(rng.choice((1, 1 / 1.8, 0.35, 2.5))))
            if kind in (GREY, COLOURS, PALETTE):
                out[name + "_transparent"] = png(kind, depth, depth % 2, size, rng, after=transparent(kind, depth, rng))
    for kind, depth in ((GREY, 8), (COLOURS, 8), (PALETTE, 4), (COLOURS_ALPHA, 16)):
        name = f"png_{NAMES[kind]}_{depth}"
        out[name + "_srgb"] = png(kind, depth, 0, size, rng, before=chunk(b"sRGB", b"\0") + gamma(0.45455))
        out[name + "_profile"] = png(kind, depth, 0, size, rng, before=profile())
        out[name + "_chromaticities"] = png(kind, depth, 1, size, rng, before=gamma(1) + chunk(
            b"cHRM", struct.pack(">8I", 31270, 32900, 70000, 29000, 20000, 68000, 15000, 7000)))
    grey = dict(kind=GREY, depth=8, interlaced=0, size=size, rng=rng)
    out["png_significant_bits"] = png(**grey, before=chunk(b"sBIT", b"\3"))
    out["png_background"] = png(COLOURS_ALPHA, 8, 0, size, rng, after=chunk(b"bKGD", struct.pack(">3H", 255, 0, 9)))
    out["png_texts"] = png(**grey, before=chunk(b"tEXt", b"Title\0x") + chunk(b"zTXt", b"Title\0\0" + zlib.compress(b"x" * 5000)),
                           behind=chunk(b"iTXt", b"Title\0\0\0\0\0x") + chunk(b"tIME", bytes((7, 208, 1, 1, 0, 0, 0))))
    out["png_turned_by_exif"] = png(**grey, after=chunk(
        b"eXIf", b"MM\0*\0\0\0\x08\0\x01\x01\x12\0\3\0\0\0\1\0\6\0\0\0\0\0\0") + chunk(b"pHYs", struct.pack(">IIB", 1, 2, 1)))
    out["png_suggested_palette"] = png(COLOURS, 8, 0, size, rng, colours=np.array([[1, 2, 3], [200, 100, 0]], np.uint8))
    out["png_short_palette"] = png(PALETTE, 8, 0, size, rng, colours=np.array([[9, 8, 7], [200, 5, 4]], np.uint8),
                                   samples=np.array([rng.choice((0, 1, 1, 2, 255)) for _ in range(size[0] * size[1])]).reshape(*size, 1))
    out["png_pieces"] = png(**grey, pieces=1)
    out["png_stored"] = png(**grey, level=0)
    mask = np.array([rng.randrange(256) for _ in range(size[0] * size[1])]).reshape(*size, 1)
    out["png_mask_16"] = png(GREY, 16, 0, size, rng, samples=mask)
    out["png_mask_of_equal_colours"] = png(COLOURS, 8, 0, size, rng, samples=np.repeat(mask, 3, axis=2))
    whole = out["png_colours_8"][0]
    out["png_bad_cut"] = whole[:-40], None
    out["png_bad_without_end"] = whole[:-12], None
    out["png_bad_checksum"] = whole[:-14] + bytes((whole[-14] ^ 1,)) + whole[-13:], None
    out["png_bad_order"] = whole[:8] + whole[33:], None
    out["png_bad_no_palette"] = png(PALETTE, 8, 0, size, rng)[0].replace(b"PLTE", b"PLTx"), None
    head = lambda *fields: chunk(b"IHDR", struct.pack(">IIBBBBB", *fields))
    out["png_bad_depth"] = whole[:8] + head(size[1], size[0], 3, COLOURS, 0, 0, 0) + whole[33:], None
    out["png_bad_huge"] = whole[:8] + head(16000, 16000, 8, COLOURS, 0, 0, 0) + whole[33:], None
    return out


# JPEG --------------------------------------------------------------------------------------------------------------------------------

AC = [0, 0xf0] + [run << 4 | size for run in range(15) for size in range(1, 6)]
ZIGZAG = 64


def segment(marker, data):
    return bytes((0xff, marker)) + struct.pack(">H", len(data) + 2) + data


class Bits:
    def __init__(self):
        self.bits = []

    def put(self, value, count):
        self.bits += [(value >> i) & 1 for i in range(count - 1, -1, -1)]

    def bytes(self):
        padded = self.bits + [1] * (-len(self.bits) % 8)
        return np.packbits(np.array(padded, np.uint8)).tobytes().replace(b"\xff", b"\xff\0") if padded else b""

    def number(self, value, size):
        self.put(value if value >= 0 else value + (1 << size) - 1, size)


def block(bits, dc, ac):
    size = abs(dc).bit_length()
    bits.put(size, 4)  # sizes 0 to 11 have codes of four bits each, in their order
    bits.number(dc, size)
    at = 1
    for place, value in ac:
        while place - at > 14:
            bits.put(AC.index(0xf0), 8)
            at += 16
            if at > place:
                return
        size = abs(value).bit_length()
        bits.put(AC.index((place - at) << 4 | size), 8)
        bits.number(value, size)
        at = place + 1
    if at < ZIGZAG:
        bits.put(AC.index(0), 8)


def random_block(rng, pred):
    dc = max(-60, min(60, pred + rng.randint(-25, 25)))
    places, at = [], 0
    for _ in range(rng.randrange(4)):
        at += rng.randint(1, 14)
        if at < ZIGZAG:
            places.append((at, rng.choice((-1, 1)) * rng.randint(1, 9)))
    return dc, places


def jpeg(size, rng, components=((1, 1, 1),), head=b"", restart=0, interleaved=True, sof=0xc0, wide=False, precision=8, spectral=(0, 63, 0),
         stray={}, end=b"\xff\xd9", spoilt=False):
    """Baseline, of random coefficients. `components` are (id, h, v); `stray` bytes stand before the segments that it names."""
    height, width = size
    h_most, v_most = max(c[1] for c in components), max(c[2] for c in components)
    table = b"\x10" + struct.pack(">64H", *[12] * 64) if wide else b"\0" + bytes([12] * 64)
    out = b"\xff\xd8" + head + stray.get("dqt", b"") + segment(0xdb, table)
    frame = struct.pack(">BHHB", precision, height, width, len(components))
    out += stray.get("sof", b"") + segment(sof, frame + b"".join(bytes((i, h << 4 | v, 0)) for i, h, v in components))
    out += segment(0xc4, b"\0" + bytes([0, 0, 0, 12] + [0] * 12) + bytes(range(12)))
    out += segment(0xc4, b"\x10" + bytes([0] * 7 + [len(AC)] + [0] * 8) + bytes(AC))
    if restart:
        out += segment(0xdd, struct.pack(">H", restart))
    for scan in [components] if interleaved else [[c] for c in components]:
        out += stray.get("sos", b"") + segment(0xda, bytes((len(scan),)) + b"".join(bytes((c[0], 0)) for c in scan) + bytes(spectral))
        alone = len(scan) == 1
        steps = (8, 8) if alone else (8 * v_most, 8 * h_most)
        area = [-(-n * (scan[0][2 - i] if alone else most) // most) for i, (n, most) in enumerate(((height, v_most), (width, h_most)))]
        mcus = -(-area[0] // steps[0]) * -(-area[1] // steps[1])
        bits, before, resets = Bits(), [0] * len(scan), 0
        for mcu in range(mcus):
            if restart and mcu and mcu % restart == 0:
                out += bits.bytes() + bytes((0xff, 0xd0 + (resets + 3 * spoilt) % 8))
                bits, before, resets = Bits(), [0] * len(scan), resets + 1
            for i, c in enumerate(scan):
                for _ in range(1 if alone else c[1] * c[2]):
                    dc, ac = random_block(rng, before[i])
                    block(bits, dc - before[i], ac)
                    before[i] = dc
        out += bits.bytes()
    return out + stray.get("eoi", b"") + end


def jfif(major=1):
    return segment(0xe0, b"JFIF\0" + bytes((major, 1, 0, 0, 1, 0, 1, 0, 0)))


def adobe(transform):
    return segment(0xee, b"Adobe\0\x64\0\0\0\0" + bytes((transform,)))


def ids(*ids, first=(1, 1), last=(1, 1)):
    return tuple((i, *(first if n == 0 else last if n == 3 else (1, 1))) for n, i in enumerate(ids))


def by_pillow(size, rng, mode, **options):
    channels = len(Image.new(mode, (1, 1)).getbands())
    small = Image.frombytes(mode, (3, 3), bytes(rng.randrange(256) for _ in range(9 * channels)))
    out = io.BytesIO()
    small.resize((size[1], size[0]), Image.BILINEAR).save(out, "JPEG", **options)
    return out.getvalue()


def transcoded(file, *options):
    return subprocess.run(["jpegtran", *options], input=file, check=True, capture_output=True).stdout


def jpegs(size, seed):
    """name: (file, None)."""
    rng = random.Random(seed)
    make = lambda **given: jpeg(size, rng, **given)
    ycc = ids(1, 2, 3)
    out = {"jpeg_grey": make(head=jfif()), "jpeg_grey_2x2": make(components=((1, 2, 2),)), "jpeg_ycc": make(components=ycc, head=jfif())}
    for h, v in ((2, 1), (1, 2), (2, 2), (4, 1), (4, 2), (1, 4)):
        out[f"jpeg_ycc_{h}x{v}"] = make(components=ids(1, 2, 3, first=(h, v)), head=jfif())
    out["jpeg_ycc_2x2_separate"] = make(components=ids(1, 2, 3, first=(2, 2)), interleaved=False, restart=2)
    out["jpeg_ycc_chroma_larger"] = make(components=((1, 1, 1), (2, 2, 1), (3, 1, 2)))
    out["jpeg_ycc_unmarked_ids"] = make(components=ids(0, 1, 2))
    out["jpeg_ycc_adobe"] = make(components=ycc, head=adobe(1))
    out["jpeg_ycc_adobe_unknown"] = make(components=ycc, head=adobe(7))
    out["jpeg_ycc_jfif_2"] = make(components=ycc, head=jfif(2))
    out["jpeg_rgb_adobe"] = make(components=ycc, head=adobe(0))
    out["jpeg_rgb_ids"] = make(components=ids(82, 71, 66))
    out["jpeg_cmyk_adobe"] = make(components=ids(1, 2, 3, 4), head=adobe(0))
    out["jpeg_cmyk_unmarked"] = make(components=ids(1, 2, 3, 4))
    out["jpeg_cmyk_ids"] = make(components=ids(67, 77, 89, 75), restart=1)
    out["jpeg_cmyk_ycck"] = make(components=ids(1, 2, 3, 4), head=adobe(2))
    out["jpeg_cmyk_ycck_2x2"] = make(components=ids(1, 2, 3, 4, first=(2, 2), last=(2, 2)), head=adobe(2))
    out["jpeg_cmyk_adobe_unknown"] = make(components=ids(1, 2, 3, 4), head=adobe(9))
    out["jpeg_restart_1"] = make(components=ids(1, 2, 3, first=(2, 2)), restart=1)
    out["jpeg_restart_3"] = make(restart=3)
    out["jpeg_extended"] = make(components=ycc, sof=0xc1, wide=True)
    out["jpeg_not_sequential"] = make(spectral=(0, 5, 0x10))
    for place in ("dqt", "sof", "sos", "eoi"):
        out["jpeg_stray_before_" + place] = make(components=ycc, head=jfif(), stray={place: b"\1\2\3\4\0"})
    out["jpeg_fill_bytes"] = make(stray={place: b"\xff\xff\xff" for place in ("dqt", "sof", "sos", "eoi")})
    out["jpeg_more_behind_it"] = make(end=b"\xff\xd9 and so on")
    out["jpeg_comment"] = make(head=jfif() + segment(0xfe, b"made by hand") + segment(0xed, b"Photoshop 3.0\0"))
    exif = Image.Exif()
    exif[0x112] = 6
    icc = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()[:200]
    for name, mode, options in (
            ("exif_turned", "RGB", dict(exif=exif)), ("profile", "RGB", dict(icc_profile=icc)),
            ("quality_1", "RGB", dict(quality=1)), ("quality_100", "RGB", dict(quality=100, subsampling=0)),
            ("optimised", "RGB", dict(optimize=True, subsampling=1)), ("progressive", "RGB", dict(progressive=True)),
            ("progressive_grey", "L", dict(progressive=True)), ("kept_rgb", "RGB", dict(keep_rgb=True)),
            ("progressive_cmyk", "CMYK", dict(progressive=True)), ("cmyk", "CMYK", dict(quality=95)),
            ("rows", "RGB", dict(restart_marker_rows=1))):
        out["jpeg_cmyk_pillow_" + name if mode == "CMYK" else "jpeg_pillow_" + name] = by_pillow(size, rng, mode, **options)
    if shutil.which("jpegtran"):
        for name in ("jpeg_grey", "jpeg_ycc_2x2", "jpeg_ycc_4x1", "jpeg_rgb_adobe", "jpeg_cmyk_ycck", "jpeg_restart_1"):
            for option in ("progressive", "arithmetic", "optimize"):
                out[f"{name}_{option}"] = transcoded(out[name], "-" + option)
        out["jpeg_ycc_arithmetic_progressive"] = transcoded(out["jpeg_ycc"], "-arithmetic", "-progressive", "-restart", "1B")
    whole = out["jpeg_ycc_2x2"]
    out["jpeg_bad_cut"] = whole[:-len(whole) // 8]
    out["jpeg_bad_cut_progressive"] = out["jpeg_pillow_progressive"][:-30]
    out["jpeg_bad_without_end"] = whole[:-2]
    out["jpeg_bad_restarts"] = jpeg((size[0] + 64, size[1]), rng, restart=1, spoilt=True)
    out["jpeg_bad_two_channels"] = make(components=ids(1, 2))
    out["jpeg_bad_lossless"] = make(sof=0xc3)
    out["jpeg_bad_12_bits"] = make(sof=0xc1, precision=12)
    out["jpeg_bad_no_scan"] = whole[:whole.index(b"\xff\xda")] + b"\xff\xd9"
    many = out["jpeg_ycc_2x2_separate"]
    scan = many.rindex(b"\xff\xda")
    out["jpeg_bad_many_scans"] = many[:scan] + many[scan:-2] * 120 + many[-2:]
    return {name: (file, None) for name, file in out.items()}


# What is right -----------------------------------------------------------------------------------------------------------------------

def right(name, file, samples):
    """colour, grey and numbers, of which any may be missing."""
    if "_bad_" in name:
        return {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        image = Image.open(io.BytesIO(file))
        image.load()
        if image.mode.startswith("I;16"):
            image = Image.fromarray((np.array(image) >> 8).astype(np.uint8))
        out = {"colour": np.array(image.convert("RGB")), "grey": np.array(image.convert("RGB").convert("L"))}
    if samples is not None and samples.max() < 256 and (samples.shape[2] < 3 or "equal" in name):
        out["numbers"] = samples[..., 0].astype(np.uint8)
    return out


def everything(size, seed):
    files = {**pngs(size, seed), **jpegs(size, seed)}
    return {name: (file, right(name, file, samples)) for name, (file, samples) in files.items()}


def write(path, pictures):
    header, data = {}, b""
    for name, (file, numbers) in sorted(pictures.items()):
        for part, array in {"file": np.frombuffer(file, np.uint8), **numbers}.items():
            header[f"{name}/{part}"] = {"dtype": "U8", "shape": array.shape, "data_offsets": [len(data), len(data) + array.size]}
            data += array.tobytes()
    text = json.dumps(header, separators=(",", ":")).encode()
    pathlib.Path(path).write_bytes(struct.pack("<Q", len(text)) + text + data)


def read(path):
    content = pathlib.Path(path).read_bytes()
    length = struct.unpack("<Q", content[:8])[0]
    for name, entry in json.loads(content[8:8 + length]).items():
        begin, end = entry["data_offsets"]
        yield name, np.frombuffer(content[8 + length + begin:8 + length + end], np.uint8).reshape(entry["shape"])


def tolerance(name):
    return 0 if name.startswith("png") else 2 if "cmyk" in name else 1


def difference(name, is_, should):
    """A sentence, or nothing."""
    if is_ is None or should is None:
        return None if (is_ is None) == (should is None) else f"{name}: {'is refused' if is_ is None else 'is read, and should be refused'}"
    if is_.shape != should.shape:
        return f"{name}: is {is_.shape}, should be {should.shape}"
    most = np.abs(is_.astype(int) - should.astype(int)).max()
    return f"{name}: differs by {most}" if most > tolerance(name) else None


def check(stored, program):
    problems, tensors = [], dict(read(stored))
    for key, file in tensors.items():
        name, part = key.split("/")
        if part == "file":
            for part, should in right(name, file.tobytes(), None).items():
                problems.append(difference(f"{name}/{part}, stored", tensors.get(f"{name}/{part}"), should))
    count = 0
    for seed, size in enumerate(((1, 1), (3, 5), (8, 8), (17, 33), (40, 23))):
        with tempfile.TemporaryDirectory() as folder:
            pictures = everything(size, seed)
            for name, (file, _) in pictures.items():
                (pathlib.Path(folder) / name).write_bytes(file)
            subprocess.run([program, folder], check=True)
            for name, (_, numbers) in pictures.items():
                for part in ("colour", "grey", "numbers"):
                    result = pathlib.Path(folder) / f"{name}.{part}"
                    got = None
                    if result.exists():
                        h, w, c = struct.unpack("<3q", result.read_bytes()[:24])
                        got = np.frombuffer(result.read_bytes()[24:], np.uint8).reshape((h, w, 3) if c == 3 else (h, w))
                    should = numbers.get(part)
                    # A small random picture may have numbers by chance, such as 16 bits below 256.
                    if part == "numbers" and should is None and got is not None and min(size) < 3:
                        continue
                    problems.append(difference(f"{name} of {size}/{part}", got, should))
                    count += 1
    problems = [problem for problem in problems if problem]
    print(f"{count} pictures, {len(problems)} problems", *problems[:40], sep="\n")
    return 1 if problems else 0


if __name__ == "__main__":
    if sys.argv[1] == "write":
        write(sys.argv[2], everything((9, 13), 1))
    else:
        sys.exit(check(*sys.argv[2:]))
