"""Writes scripts.json: checksums of what Hugging Face's normalizers and pre-tokenizers make of lines in a hundred scripts, and of
code points. Run with tokenizers 0.23: python3 scripts_figures.py > scripts.json"""
import json
import zlib

import scripts_texts


def pieces(stage, text):
    return "".join(piece + "\x1f" for piece, _ in stage.pre_tokenize_str(text))


def row(kind, name, stage, output, lines, points):
    crc = 0
    for text in points:
        crc = zlib.crc32(output(stage, text).encode() + b"\n", crc)
    return {"kind": kind, "name": name, "stage": json.loads(stage.__getstate__()),
            "lines": [zlib.crc32(output(stage, line).encode()) for line in lines], "points": crc}


def main():
    lines, points = scripts_texts.lines(len(scripts_texts.BLOCKS), 1), scripts_texts.points(16)
    rows = [row("normal", name, stage, lambda s, text: s.normalize_str(text), lines, points)
            for name, stage in scripts_texts.NORMALIZERS.items()]
    rows += [row("pieces", name, stage, pieces, lines, points) for name, stage in scripts_texts.PRE_TOKENIZERS.items()]
    print('{"lines": ' + json.dumps(lines, ensure_ascii=False) + ',\n"stages": [')
    print(",\n".join(json.dumps(one, separators=(",", ":")) for one in rows) + "]}")


main()
