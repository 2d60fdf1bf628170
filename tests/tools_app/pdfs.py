"""Small PDFs, written object by object, with the words that a reader must see."""

import zlib
from collections.abc import Mapping, Sequence
from io import BytesIO

from PIL import Image

_CMAP = """/CIDInit /ProcSet findresource begin 12 dict begin begincmap /CMapName /X def /CMapType 2 def
1 begincodespacerange <00> <FF> endcodespacerange
4 beginbfchar <01> <FB01> <02> <FB03> <03> <0073006F00660074> <AD> <00AD> endbfchar
1 beginbfrange <20> <7E> <0020> endbfrange
endcmap end end"""


def pdf(
    *pages: Sequence[str],
    catalog: str = "",
    page: str = "",
    extra: Sequence[str] = (),
    raw_pages: Sequence[str] | None = None,
) -> bytes:
    """Return a PDF: a page for each list of lines. `catalog` and `page` are added to these dictionaries.

    `extra` are objects from number 10 on. The text is in Helvetica with the ligatures fi and ffi as \\001 and \\002.
    """
    objects: dict[int, str] = {
        3: "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding /ToUnicode 4 0 R >>",
        4: f"<< /Length {len(_CMAP)} >>\nstream\n{_CMAP}\nendstream",
    }
    contents = list(raw_pages or ()) or [
        "BT /F1 12 Tf 72 700 Td " + " 0 -14 Td ".join(f"({line}) Tj" for line in lines) + " ET" for lines in pages
    ]
    first = 10 + len(extra)
    for number, text in enumerate(extra, 10):
        objects[number] = text
    kids = []
    for index, content in enumerate(contents):
        number = first + 2 * index
        kids.append(f"{number} 0 R")
        objects[number] = (
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents {number + 1} 0 R "
            f"/Resources << /Font << /F1 3 0 R >> /XObject << /I1 10 0 R >> >> {page} >>"
        )
        objects[number + 1] = f"<< /Length {len(content.encode('latin-1'))} >>\nstream\n{content}\nendstream"
    objects[2] = f"<< /Type /Pages /Kids [{' '.join(kids)}] /Count {len(kids)} >>"
    objects[1] = f"<< /Type /Catalog /Pages 2 0 R {catalog} >>"
    out, offsets = BytesIO(), {}
    out.write(b"%PDF-1.7\n")
    for number in sorted(objects):
        offsets[number] = out.tell()
        out.write(f"{number} 0 obj\n{objects[number]}\nendobj\n".encode("latin-1"))
    start, size = out.tell(), max(objects) + 1
    out.write(f"xref\n0 {size}\n".encode())
    for number in range(size):
        out.write(b"%010d 00000 n \n" % offsets[number] if number in offsets else b"0000000000 65535 f \n")
    out.write(f"trailer\n<< /Size {size} /Root 1 0 R >>\nstartxref\n{start}\n%%EOF\n".encode())
    return out.getvalue()


def scan(width: int = 1240, height: int = 1754) -> bytes:
    """Return a page that is only a picture."""
    pixels = zlib.compress(Image.effect_noise((width, height), 60).tobytes())
    image = (
        f"<< /Type /XObject /Subtype /Image /Width {width} /Height {height} /ColorSpace /DeviceGray "
        f"/BitsPerComponent 8 /Filter /FlateDecode /Length {len(pixels)} >>\nstream\n{pixels.decode('latin-1')}\nendstream"
    )
    return pdf(raw_pages=["q 612 0 0 792 0 0 cm /I1 Do Q"], extra=[image])


def _file(name: str, content: str) -> Sequence[str]:
    return (
        f"<< /Type /Filespec /F ({name}) /UF ({name}) /EF << /F 11 0 R >> >>",
        f"<< /Length {len(content)} /Type /EmbeddedFile >>\nstream\n{content}\nendstream",
    )


def _xfa(xml: str) -> Sequence[str]:
    return (f"<< /Length {len(xml)} >>\nstream\n{xml}\nendstream",)


_XFA = "<xdp:xdp xmlns:xdp='x'><xfa:datasets xmlns:xfa='y'><xfa:data><form><buyer>Ada Lovelace</buyer><total>124500</total></form></xfa:data></xfa:datasets></xdp:xdp>"
_NAMES = "/Names << /EmbeddedFiles << /Names [({0}) 10 0 R] >> >>"
PDFS: Mapping[str, tuple[bytes, Sequence[str], Sequence[str]]] = {  # a PDF, its words, and texts that must not occur
    "hyphen at a line's end": (pdf(["The infor-", "mation is here"]), ("information is here",), ("infor-",)),
    "soft hyphen": (pdf(["A di\\255", "vided word"]), ("A divided word",), ()),
    "ligatures": (pdf(["\\001nal o\\002ce"]), ("final office",), ("\ufb01",)),
    "ligature before a cut": (pdf(["a pro\\001-", "table year"]), ("profitable year",), ()),
    "compound in German": (pdf(["Die E-Mail-", "Adresse fehlt"]), ("E-Mail-Adresse fehlt",), ()),
    "German elision": (pdf(["Vor-", "und Nachteile"]), ("Vor- und Nachteile",), ()),
    "English compound": (pdf(["a state-of-the-", "art machine"]), ("state-of-the-art machine",), ()),
    "years": (pdf(["from 2020-", "2021 on"]), ("2020-2021 on",), ()),
    "hyphen as seen elsewhere": (pdf(["a well-known fact", "is a well-", "known fact"]), ("is a well-known fact",), ()),
    "dash": (pdf(["The end -", "or not"]), ("The end -", "or not"), ("endor",)),
    "embedded text": (
        pdf(["Cover"], catalog=_NAMES.format("note.txt"), extra=_file("note.txt", "EMBEDDED words")),
        ("Cover", "note.txt", "EMBEDDED words"),
        (),
    ),
    "embedded table": (
        pdf(["Cover"], catalog=_NAMES.format("a.csv"), extra=_file("a.csv", "item;price\npear;2.50")),
        ("a.csv", "pear", "2.50"),
        (),
    ),
    "embedded program": (
        pdf(["Cover"], catalog=_NAMES.format("tool.bin"), extra=_file("tool.bin", "\0\1\2\3")),
        ("tool.bin", "4 bytes"),
        (),
    ),
    "XFA": (
        pdf(["Please wait"], catalog="/AcroForm << /XFA 10 0 R /Fields [] >>", extra=_xfa(_XFA)),
        ("buyer: Ada Lovelace", "total: 124500"),
        (),
    ),
    "outline": (
        pdf(
            ["Chapter one"],
            ["Chapter two"],
            catalog="/Outlines 10 0 R",
            extra=(
                "<< /First 11 0 R /Last 12 0 R /Count 2 >>",
                "<< /Title (Beginnings) /Parent 10 0 R /Next 12 0 R /Dest [13 0 R /Fit] >>",
                "<< /Title (Endings) /Parent 10 0 R /Prev 11 0 R /Dest [15 0 R /Fit] >>",
            ),
        ),
        ("Beginnings", "Endings", "page 2"),
        (),
    ),
    "link": (
        pdf(
            ["Terms are on our site"],
            page="/Annots [10 0 R]",
            extra=(
                "<< /Type /Annot /Subtype /Link /Rect [72 690 200 712] /A << /S /URI /URI (https://example.org/terms) >> >>",
            ),
        ),
        ("Terms are on our site", "https://example.org/terms"),
        (),
    ),
    "highlighted words with a remark": (
        pdf(
            ["The price is 118,000"],
            page="/Annots [10 0 R]",
            extra=("<< /Type /Annot /Subtype /Highlight /T (Ben) /Contents (too low) /Rect [72 690 200 712] >>",),
        ),
        ("118,000", "too low", "Ben"),
        (),
    ),
    "scan": (scan(), ("picture", "view"), ()),
    "two columns of words": (
        pdf(
            raw_pages=[
                "BT /F1 12 Tf 72 700 Td (left one) Tj 0 -14 Td (left two) Tj 250 14 Td (right one) Tj 0 -14 Td (right two) Tj ET"
            ]
        ),
        ("left one", "left two", "right one", "right two"),
        (),
    ),
}
