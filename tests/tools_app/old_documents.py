"""Small documents of old formats, written byte by byte, with the words that a reader must see."""

import struct
from collections.abc import Mapping, Sequence

_FREE, _END = 0xFFFFFFFF, 0xFFFFFFFE


def compound(streams: Mapping[str, bytes]) -> bytes:
    """Return a compound file ([MS-CFB]) with streams by path, such as "folder/name"."""
    names = [""]
    for path in streams:
        steps = path.split("/")
        names += ["/".join(steps[: depth + 1]) for depth in range(len(steps))]
    names = list(dict.fromkeys(names))
    sectors: list[bytes] = []
    fat: list[int] = []

    def chain(data: bytes) -> int:
        if not data:
            return _END
        first = len(sectors)
        pieces = [data[at : at + 512].ljust(512, b"\0") for at in range(0, len(data), 512)]
        sectors.extend(pieces)
        fat.extend([*range(first + 1, first + len(pieces)), _END])
        return first

    mini, mini_fat, starts = b"", list[int](), dict[str, int]()
    for path, data in streams.items():
        if len(data) >= 4096:
            starts[path] = chain(data)
            continue
        count = -(-len(data) // 64)
        starts[path] = len(mini_fat) if count else _END
        mini_fat += [*range(len(mini_fat) + 1, len(mini_fat) + count), _END][: count or 0]
        mini += data.ljust(count * 64, b"\0")
    starts[""] = chain(mini)
    mini_start = chain(b"".join(struct.pack("<I", entry) for entry in mini_fat))
    directory = b""
    for index, path in enumerate(names):
        children = [
            number
            for number, other in enumerate(names)
            if other and other.rpartition("/")[0] == path and number != index
        ]
        siblings = [
            n
            for n, other in enumerate(names)
            if other and path and other.rpartition("/")[0] == path.rpartition("/")[0] and n > index
        ]
        name = (path.rpartition("/")[2] or "Root Entry").encode("utf-16-le")
        kind = 5 if not path else 2 if path in streams else 1
        size = len(mini) if not path else len(streams.get(path, b""))
        directory += name.ljust(64, b"\0") + struct.pack(
            "<HBBIII16sIQQIQ",
            len(name) + 2,
            kind,
            1,
            _FREE,
            siblings[0] if siblings else _FREE,
            children[0] if children else _FREE,
            bytes(16),
            0,
            0,
            0,
            starts.get(path, 0),
            size,
        )
    directory_start = chain(directory)
    fat_start = len(sectors)
    fat_count = -(-(len(fat) + 1) // 127)
    table = [*fat, *[0xFFFFFFFD] * fat_count]
    data = struct.pack(f"<{len(table)}I", *table).ljust(512 * fat_count, b"\xff")
    sectors += [data[at : at + 512] for at in range(0, len(data), 512)]
    header = struct.pack(
        "<8s16sHHHHH6sIIIIIIIII",
        bytes.fromhex("d0cf11e0a1b11ae1"),
        bytes(16),
        0x3E,
        3,
        0xFFFE,
        9,
        6,
        bytes(6),
        0,
        fat_count,
        directory_start,
        0,
        4096,
        mini_start,
        1 if mini_fat else 0,
        _END,
        0,
    )
    difat = [*range(fat_start, fat_start + fat_count), *[_FREE] * (109 - fat_count)]
    return header + struct.pack("<109I", *difat) + b"".join(sectors)


def doc(text: str, *, wide: bool = True) -> bytes:
    """Return a Word document of 1997 ([MS-DOC]): a header with the address of its one piece of text."""
    body = text.encode("utf-16-le" if wide else "cp1252")
    start = 0x400
    fib = bytearray(start)
    struct.pack_into("<HH", fib, 0, 0xA5EC, 0xC1)
    struct.pack_into("<H", fib, 0x0A, 0x0200)
    struct.pack_into("<I", fib, 0x4C, len(text))
    address = start if wide else (start * 2) | 0x40000000
    pieces = struct.pack("<II", 0, len(text)) + struct.pack("<HIH", 0, address, 0)
    clx = b"\x01\x02\x00ab" + b"\x02" + struct.pack("<I", len(pieces)) + pieces
    struct.pack_into("<II", fib, 0x01A2, 0, len(clx))
    return compound({"WordDocument": bytes(fib) + body.ljust(4096, b"\0"), "1Table": clx})


def ppt(*slides: Sequence[str]) -> bytes:
    """Return a PowerPoint presentation of 1997 ([MS-PPT]) whose texts are in its list of slides."""

    def record(kind: int, data: bytes, *, is_container: bool = False) -> bytes:
        return struct.pack("<HHI", 0x0F if is_container else 0, kind, len(data)) + data

    listed = b""
    for texts in slides:
        listed += record(0x03F3, bytes(20))
        for text in texts:
            listed += record(0x0F9F, bytes(4))
            listed += (
                record(0x0FA8, text.encode("latin-1")) if text.isascii() else record(0x0FA0, text.encode("utf-16-le"))
            )
    document = record(0x03E8, record(0x0FF0, listed, is_container=True), is_container=True)
    return compound({"PowerPoint Document": document, "Current User": bytes(20)})


def msg(fields: Mapping[str, str | bytes], prefix: str = "", *, ansi: bool = False) -> dict[str, bytes]:
    """Return the streams of an Outlook message ([MS-OXMSG]) with its properties by number."""
    streams = {f"{prefix}__properties_version1.0": bytes(32)}
    for number, value in fields.items():
        if isinstance(value, bytes):
            streams[f"{prefix}__substg1.0_{number}0102"] = value
        elif ansi:
            streams[f"{prefix}__substg1.0_{number}001E"] = value.encode("cp1252")
        else:
            streams[f"{prefix}__substg1.0_{number}001F"] = value.encode("utf-16-le")
    return streams


_LETTER = {
    "0037": "Offer",
    "0C1A": "Ada Lovelace",
    "0C1F": "ada@example.org",
    "0E04": "Bob",
    "1000": "Dear Bob,\r\nGrüße — 118.000 €",
}
_ATTACHED = msg({"3707": "prices.csv", "3701": b"item;price\npear;2.50\n"}, "__attach_version1.0_#00000000/")
_INNER = "__attach_version1.0_#00000000/__substg1.0_3701000D/"
OLD: Mapping[str, tuple[str, bytes, Sequence[str]]] = {  # a name, the file, and its words
    "Word, wide": ("a.doc", doc("Vertrag über 118.000 €\rZweite Zeile\r"), ("Vertrag über 118.000 €", "Zweite Zeile")),
    "Word, narrow": ("a.doc", doc("Größe “quoted”\rsecond\r", wide=False), ("Größe “quoted”", "second")),
    "Word, table": ("a.doc", doc("Item\x07Price\x07\x07pear\x072.50\x07\x07"), ("Item | Price", "pear | 2.50")),
    "Word, field": (
        "a.doc",
        doc('See \x13 HYPERLINK "https://example.org/x" \x14our terms\x15 now\r'),
        ("our terms", "https://example.org/x"),
    ),
    "Word, Chinese": ("a.doc", doc("合同编号：2026\r"), ("合同编号：2026",)),
    "Word under another name": ("letter", doc("Some words\r"), ("Some words",)),
    "PowerPoint": (
        "a.ppt",
        ppt(["Title one", "Points: 12"], ["Zweite Folie — Größe"]),
        ("Title one", "Points: 12", "Zweite Folie — Größe"),
    ),
    "PowerPoint lines": ("a.ppt", ppt(["first\rsecond\x0bthird"]), ("first\nsecond\nthird",)),
    "Outlook": (
        "a.msg",
        compound(msg(_LETTER)),
        ("Subject: Offer", "Ada Lovelace", "ada@example.org", "To: Bob", "Grüße — 118.000 €"),
    ),
    "Outlook, narrow": (
        "a.msg",
        compound(msg({"0037": "Größe", "1000": "Köln €"}, ansi=True)),
        ("Subject: Größe", "Köln €"),
    ),
    "Outlook, HTML": (
        "a.msg",
        compound(msg({"0037": "x", "1013": b"<p>Gr&uuml;&szlig;e <b>dick</b></p>"})),
        ("Grüße dick",),
    ),
    "Outlook, attached table": ("a.msg", compound(msg(_LETTER) | _ATTACHED), ("prices.csv", "pear", "2.50")),
    "Outlook, attached message": (
        "a.msg",
        compound(
            msg(_LETTER)
            | msg({"3701": b"", "3001": "inner"}, _INNER[:30])
            | msg({"0037": "Inner subject", "1000": "inner words"}, _INNER)
        ),
        ("Inner subject", "inner words"),
    ),
    "rich text": (
        "a.rtf",
        rb"{\rtf1\ansi\ansicpg1252 Gr\'f6\'dfe \b fett\b0\par Preis 5 \'80 \u8212? Ende\par}",
        ("Größe fett", "Preis 5 € — Ende"),
    ),
    "rich text, Russian": (
        "a.rtf",
        b"{\\rtf1\\ansi\\ansicpg1251{\\fonttbl{\\f0\\fcharset204 Arial;}}\\f0 \\'c4\\'ee\\'e3\\'ee\\'e2\\'ee\\'f0 \\u1072?\\par}",
        ("Договор а",),
    ),
    "rich text, Japanese": (
        "a.rtf",
        rb"{\rtf1\ansi\ansicpg932{\fonttbl{\f0\fcharset128 MS Mincho;}}\f0 \'90\'bf\'8b\'81\'8f\'91\par}",
        ("請求書",),
    ),
    "rich text, font's charset": (
        "a.rtf",
        rb"{\rtf1\ansi\ansicpg1252{\fonttbl{\f0\fcharset0 Arial;}{\f1\fcharset204 Arial Cyr;}}\f0 Word \f1 \'c4\'e0\f0  \'fc\par}",
        ("Word Да", "ü"),
    ),
    "rich text, table": (
        "a.rtf",
        rb"{\rtf1\ansi\trowd\intbl Item\cell Price\cell\row\trowd\intbl pear\cell 2.50\cell\row\pard after\par}",
        ("Item", "Price", "pear", "2.50", "after"),
    ),
    "rich text, notes": (
        "a.rtf",
        rb"{\rtf1\ansi{\header Head words\par}Body{\footnote Note words} text\par{\*\generator Hidden;}{\info{\title T}}}",
        ("Head words", "Body", "Note words"),
    ),
    "rich text, link": (
        "a.rtf",
        rb'{\rtf1\ansi See {\field{\*\fldinst{HYPERLINK "https://example.org/t"}}{\fldrslt our terms}}.\par}',
        ("our terms", "https://example.org/t"),
    ),
    "rich text, picture": ("a.rtf", rb"{\rtf1\ansi Before {\pict\pngblip 89504e470d0a}after\par}", ("Before", "after")),
    "rich text, surrogates": ("a.rtf", rb"{\rtf1\ansi\uc1 \u-10179?\u-8704? smile\par}", ("\U0001f600 smile",)),
    "rich text, outlook": (
        "a.rtf",
        rb"{\rtf1\ansi\deff0{\*\htmltag64 <p>}Shown\htmlrtf hidden\htmlrtf0  words\par}",
        ("Shown",),
    ),
}
