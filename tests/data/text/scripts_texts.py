"""Lines in a hundred scripts, and stages of tokenizers: for scripts_figures.py, which stores what Hugging Face's library makes of
some, and exchange_tokenizers.py, which compares many."""
import random
import unicodedata

from tokenizers import Regex, normalizers as n, pre_tokenizers as p

# Where each script's letters stand.
BLOCKS = [(0x21, 0x7E), (0xA1, 0x17F), (0x180, 0x24F), (0x250, 0x2AF), (0x370, 0x3FF), (0x400, 0x52F), (0x531, 0x58F),
          (0x5D0, 0x5F4), (0x600, 0x6FF), (0x700, 0x74F), (0x780, 0x7B1), (0x7C0, 0x7FA), (0x800, 0x83E), (0x840, 0x85E),
          (0x8A0, 0x8FF), (0x900, 0x97F), (0x980, 0x9FE), (0xA01, 0xA76), (0xA81, 0xAFF), (0xB01, 0xB77), (0xB82, 0xBFA),
          (0xC00, 0xC7F), (0xC80, 0xCF2), (0xD00, 0xD7F), (0xD82, 0xDF4), (0xE01, 0xE5B), (0xE81, 0xEDF), (0xF00, 0xFDA),
          (0x1000, 0x109F), (0x10A0, 0x10FF), (0x1100, 0x11FF), (0x1200, 0x139F), (0x13A0, 0x13FD), (0x1400, 0x167F),
          (0x1680, 0x169C), (0x16A0, 0x16F8), (0x1700, 0x1715), (0x1720, 0x1736), (0x1740, 0x1753), (0x1760, 0x1773),
          (0x1780, 0x17F9), (0x1800, 0x18AA), (0x1900, 0x194F), (0x1950, 0x1974), (0x1980, 0x19DF), (0x1A00, 0x1A1F),
          (0x1A20, 0x1AAD), (0x1B00, 0x1B7E), (0x1B80, 0x1BBF), (0x1BC0, 0x1BFF), (0x1C00, 0x1C4F), (0x1C50, 0x1C7F),
          (0x1D00, 0x1DBF), (0x1E00, 0x1EFF), (0x1F00, 0x1FFE), (0x2010, 0x205E), (0x2070, 0x209C), (0x20A0, 0x20C0),
          (0x2100, 0x218B), (0x2190, 0x23FF), (0x2460, 0x24FF), (0x2600, 0x27BF), (0x2800, 0x28FF), (0x2C00, 0x2C5F),
          (0x2C80, 0x2CFF), (0x2D30, 0x2D7F), (0x3001, 0x303F), (0x3041, 0x309F), (0x30A0, 0x30FF), (0x3105, 0x312F),
          (0x3131, 0x318E), (0x3200, 0x33FF), (0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xA000, 0xA4C6), (0xA4D0, 0xA4FF),
          (0xA500, 0xA62B), (0xA6A0, 0xA6F7), (0xA800, 0xA82B), (0xA840, 0xA877), (0xA880, 0xA8D9), (0xA8E0, 0xA92D),
          (0xA930, 0xA95F), (0xA980, 0xA9DF), (0xAA00, 0xAA5F), (0xAA80, 0xAADF), (0xABC0, 0xABF9), (0xAC00, 0xD7A3),
          (0xF900, 0xFAD9), (0xFB00, 0xFDFF), (0xFE20, 0xFE6B), (0xFF01, 0xFFDC), (0x10000, 0x100FA), (0x10280, 0x1031F),
          (0x10330, 0x1034A), (0x10400, 0x1044F), (0x10900, 0x1091B), (0x10A00, 0x10A58), (0x10B00, 0x10B35),
          (0x11000, 0x1104D), (0x11080, 0x110C1), (0x11100, 0x11143), (0x11600, 0x11644), (0x11700, 0x11739),
          (0x118A0, 0x118F2), (0x12000, 0x12399), (0x13000, 0x1342E), (0x16A40, 0x16A6F), (0x1D400, 0x1D7FF),
          (0x1E900, 0x1E95F), (0x1F300, 0x1FAF8), (0x20000, 0x2A6DF)]
BETWEEN = [" ", " ", " ", " ", "  ", "\n", "\t", "\u00a0", "\u3000", ".", ", ", "!?", "-", "_", "'s ", "'LL ", " 12", "345", "\r\n\n",
           "/", "(", ") ", "\u200d", "\u2581", "e\u0301", "\u0130", "\u01c5", "#", "<0x41>", "...", "$5", "a", "Word", "CamelCase"]

O200K = (r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
         r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
         r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+")
DEEPSEEK = [r"\p{N}{1,3}", "[\u4e00-\u9fa5\u3040-\u309f\u30a0-\u30ff]+",
            r"[!\"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*"
            r"|\s*[\r\n]+|\s+(?!\S)|\s+"]
GPT4 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+"
        r"|\s+(?!\S)|\s+")
BLOOM = " ?[^(\\s|[.,!?\u2026\u3002\uff0c\u3001\u0964\u06d4\u060c])]+"

NORMALIZERS = {
    "nfc": n.NFC(), "nfd": n.NFD(), "nfkc": n.NFKC(), "nfkd": n.NFKD(), "nmt": n.Nmt(), "strip": n.Strip(),
    "strip_left": n.Strip(right=False), "accents": n.Sequence([n.NFD(), n.StripAccents()]), "lowercase": n.Lowercase(),
    "bert": n.BertNormalizer(), "bert_cased": n.BertNormalizer(lowercase=False, strip_accents=True), "bytes": n.ByteLevel(),
    "prepend": n.Sequence([n.Prepend("\u2581"), n.Replace(" ", "\u2581")]), "spaces": n.Replace(Regex(" {2,}"), "\u2581"),
    "replace": n.Replace(Regex(r"[\p{P}\p{S}]+"), "*"), "replace_digits": n.Replace(Regex(r"\d(?!\d)"), "0,")}
PRE_TOKENIZERS = {
    "bert": p.BertPreTokenizer(), "whitespace": p.Whitespace(), "spaces": p.WhitespaceSplit(), "digits": p.Digits(),
    "each_digit": p.Digits(True), "punctuation": p.Punctuation(), "punctuation_next": p.Punctuation("merged_with_next"),
    "metaspace": p.Metaspace(), "metaspace_first": p.Sequence([p.WhitespaceSplit(), p.Metaspace(prepend_scheme="first")]),
    "byte_level": p.ByteLevel(), "delimiter": p.CharDelimiterSplit("."), "fixed": p.FixedLength(3),
    "gpt4": p.Split(Regex(GPT4), "isolated"), "gpt4_removed": p.Split(Regex(GPT4), "removed", invert=True),
    "o200k": p.Split(Regex(O200K), "isolated"),
    "deepseek": p.Sequence([p.Split(Regex(one), "isolated") for one in DEEPSEEK] + [p.ByteLevel(False, False, False)]),
    "bloom": p.Split(Regex(BLOOM), "isolated"),
    "string": p.Split("a", "removed"), "string_previous": p.Split(" ", "merged_with_previous"),
    "string_next": p.Split(" ", "merged_with_next"), "string_run": p.Split(" ", "contiguous"),
    "words": p.Split(Regex(r"\w+"), "contiguous", invert=True), "edges": p.Split(Regex(r"\b"), "isolated"),
    "behind": p.Split(Regex(r"(?<=\p{Lu})\p{Ll}+|(?<!\d)\d"), "isolated"),
    "scripts": p.Split(Regex(r"\p{Han}+|\p{Hiragana}+|[\p{Cyrillic}\p{Greek}]+|[^\p{Thai}]"), "isolated"),
    "nothing": p.Split(Regex(r"x*"), "isolated"), "lines": p.Split(Regex(r"^.|.$"), "isolated")}


def lines(count, seed):
    """In one script each, with others between its words."""
    draw = random.Random(seed)
    letters = [[chr(c) for c in range(a, b + 1) if unicodedata.category(chr(c))[0] not in "C"] for a, b in BLOCKS]
    result = []
    for i in range(count):
        own = letters[i % len(letters)]
        text = ""
        for _ in range(draw.randint(2, 7)):
            text += "".join(draw.choice(own) for _ in range(draw.randint(1, 6))) + draw.choice(BETWEEN)
        result.append(text)
    return result


def points(one_of=1):
    """Each code point that may be assigned, among letters, digits and signs, 64 in a text; where thousands in a row are alike
    (ideographs, syllables of Hangul and Tangut), one of so many."""
    def dense(c):
        return 0x3400 <= c < 0xD7A4 or 0xE000 <= c < 0xF900 or 0x17000 <= c < 0x18D00 or 0x20000 <= c < 0x32400

    each = [c for c in range(1, 0x32400) if not 0xD800 <= c < 0xE000 and (c % one_of == 0 or not dense(c))]
    each += range(0xE0000, 0xE0200)
    return ["".join(f"a{chr(c)}1{chr(c)} .{chr(c)}" for c in each[i:i + 64]) for i in range(0, len(each), 64)]
