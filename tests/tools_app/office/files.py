"""Builders of small Word and PowerPoint files from XML, and the form of a case."""

import re
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from io import BytesIO
from xml.sax.saxutils import escape

from PIL import Image

_OFFICE = "http://schemas.openxmlformats.org"
_NAMESPACES = " ".join(
    f'xmlns:{prefix}="{address}"'
    for prefix, address in {
        "w": f"{_OFFICE}/wordprocessingml/2006/main",
        "r": f"{_OFFICE}/officeDocument/2006/relationships",
        "m": f"{_OFFICE}/officeDocument/2006/math",
        "a": f"{_OFFICE}/drawingml/2006/main",
        "c": f"{_OFFICE}/drawingml/2006/chart",
        "dgm": f"{_OFFICE}/drawingml/2006/diagram",
        "pic": f"{_OFFICE}/drawingml/2006/picture",
        "wp": f"{_OFFICE}/drawingml/2006/wordprocessingDrawing",
        "mc": f"{_OFFICE}/markup-compatibility/2006",
        "p": f"{_OFFICE}/presentationml/2006/main",
        "v": "urn:schemas-microsoft-com:vml",
        "o": "urn:schemas-microsoft-com:office:office",
        "wps": "http://schemas.microsoft.com/office/word/2010/wordprocessingShape",
        "w14": "http://schemas.microsoft.com/office/word/2010/wordml",
        "w15": "http://schemas.microsoft.com/office/word/2012/wordml",
        "a14": "http://schemas.microsoft.com/office/drawing/2010/main",
        "p14": "http://schemas.microsoft.com/office/powerpoint/2010/main",
        "p188": "http://schemas.microsoft.com/office/powerpoint/2018/8/main",
    }.items()
)
_WORD_TYPE = "application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"
Relation = tuple[str, str] | tuple[str, str, str]
WINTER = 'w:author="L. Winter" w:date="2026-03-10T09:00:00Z"'
STEIN = 'w:author="B. Stein" w:date="2026-03-11T10:30:00Z"'


@dataclass(frozen=True, kw_only=True)
class Case:
    """A file, `shown` texts that its reading contains, `absent` ones, and `once`: texts that it contains one time.

    The words of `shown` must also be found by a search and be on the page. `unprinted` are the marks of `shown` texts.
    """

    name: str
    data: bytes
    shown: Sequence[str]
    absent: Sequence[str] = ()
    once: Sequence[str] = ()

    @property
    def words(self) -> list[str]:
        """Words and numbers of the expected texts, without marks."""
        return sorted({word for text in self.shown for word in re.findall(r"\w[\w.,/@:€%§-]*\w|\w", text)})


def root(tag: str, content: str, attributes: str = "") -> str:
    """Return an XML document with all namespaces of Office."""
    return f'<?xml version="1.0" encoding="UTF-8"?><{tag} {_NAMESPACES} {attributes}>{content}</{tag}>'


def relations(targets: Mapping[str, Relation]) -> str:
    """Return a part of relationships by id. A third value, "External", is the target's mode."""
    rows = "".join(
        f'<Relationship Id="{key}" Type="{_OFFICE}/officeDocument/2006/relationships/{kind}" '
        f'Target="{escape(target)}" TargetMode="{"".join(mode) or "Internal"}"/>'
        for key, (kind, target, *mode) in targets.items()
    )
    return f'<Relationships xmlns="{_OFFICE}/package/2006/relationships">{rows}</Relationships>'


def word(
    body: str,
    *,
    numbering: str = "",
    styles: str = "",
    targets: Mapping[str, Relation] | None = None,
    parts: Mapping[str, str | bytes] | None = None,
    main: str = "word/document.xml",
) -> bytes:
    """Return a Word file. `targets` are the relationships of its main part, `parts` further entries."""
    links: dict[str, Relation] = dict(targets or {})
    entries: dict[str, str | bytes] = {
        "[Content_Types].xml": f'<Types xmlns="{_OFFICE}/package/2006/content-types">'
        '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
        '<Default Extension="xml" ContentType="application/xml"/><Default Extension="png" ContentType="image/png"/>'
        f'<Override PartName="/{main}" ContentType="{_WORD_TYPE}"/></Types>',
        "_rels/.rels": relations({"rId1": ("officeDocument", main)}),
        main: root("w:document", f"<w:body>{body}</w:body>"),
    }
    if numbering:
        entries["word/numbering.xml"] = root("w:numbering", numbering)
        links["numbering"] = ("numbering", "numbering.xml")
    if styles:
        entries["word/styles.xml"] = root("w:styles", styles)
        links["styles"] = ("styles", "styles.xml")
    folder, _, name = main.rpartition("/")
    entries[f"{folder}/_rels/{name}.rels"] = relations(links)
    return archive(entries | dict(parts or {}))


def archive(entries: Mapping[str, str | bytes]) -> bytes:
    out = BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as file:
        for name, data in entries.items():
            file.writestr(name, data)
    return out.getvalue()


def changed(
    data: bytes, changes: Mapping[str, tuple[str, str]], added: Mapping[str, str | bytes] | None = None
) -> bytes:
    """Return the archive with a text replaced in the named entries, and with added entries."""
    with zipfile.ZipFile(BytesIO(data)) as file:
        entries: dict[str, str | bytes] = {name: file.read(name) for name in file.namelist()}
    for name, (old, new) in changes.items():
        text = entries[name]
        assert isinstance(text, bytes)
        assert old in text.decode(), f"{old} is not in {name}"
        entries[name] = text.decode().replace(old, new)
    return archive(entries | dict(added or {}))


def strict(data: bytes) -> bytes:
    """Return the same file in the namespaces of strict OOXML (ISO 29500-1, conformance class Strict)."""
    with zipfile.ZipFile(BytesIO(data)) as file:
        entries = {name: file.read(name) for name in file.namelist()}
    for name, content in entries.items():
        if name.endswith((".xml", ".rels")):
            text = content.decode()
            for kind in ("officeDocument", "wordprocessingml", "drawingml", "presentationml"):
                text = text.replace(f"{_OFFICE}/{kind}/2006/", f"http://purl.oclc.org/ooxml/{kind}/")
            entries[name] = text.encode()
    return archive(entries)


def run(text: str, properties: str = "") -> str:
    return f'<w:r>{f"<w:rPr>{properties}</w:rPr>" if properties else ""}<w:t xml:space="preserve">{text}</w:t></w:r>'


def paragraph(content: str, properties: str = "") -> str:
    """Return a paragraph. Content without XML is its text."""
    inner = content if content.startswith("<") else run(content)
    return f"<w:p>{f'<w:pPr>{properties}</w:pPr>' if properties else ''}{inner}</w:p>"


def deleted(text: str, by: str = WINTER) -> str:
    return f'<w:del w:id="1" {by}><w:r><w:delText xml:space="preserve">{text}</w:delText></w:r></w:del>'


def inserted(text: str, by: str = WINTER) -> str:
    return f'<w:ins w:id="2" {by}>{run(text)}</w:ins>'


def item(text: str, level: int = 0, number: int = 1) -> str:
    """Return a paragraph of a list."""
    return paragraph(text, f'<w:numPr><w:ilvl w:val="{level}"/><w:numId w:val="{number}"/></w:numPr>')


def level(number: int, text: str, form: str = "decimal", more: str = "", start: int = 1) -> str:
    """Return the definition of a list's level."""
    return (
        f'<w:lvl w:ilvl="{number}"><w:start w:val="{start}"/><w:numFmt w:val="{form}"/>{more}'
        f'<w:lvlText w:val="{text}"/></w:lvl>'
    )


def numbering(levels: str, numbers: str = '<w:num w:numId="1"><w:abstractNumId w:val="5"/></w:num>') -> str:
    return f'<w:abstractNum w:abstractNumId="5">{levels}</w:abstractNum>{numbers}'


def table(*rows: Sequence[str]) -> str:
    """Return a table. A cell that does not begin with a tag is its text."""
    return f"<w:tbl><w:tblPr/>{''.join(table_row(*cells) for cells in rows)}</w:tbl>"


def table_row(*cells: str, properties: str = "") -> str:
    columns = "".join(cell if cell.startswith("<w:tc>") else table_cell(cell) for cell in cells)
    return f"<w:tr>{f'<w:trPr>{properties}</w:trPr>' if properties else ''}{columns}</w:tr>"


def table_cell(content: str, properties: str = "") -> str:
    inner = content if content.startswith(("<w:p>", "<w:tbl>")) else paragraph(content or "<w:r/>")
    return f"<w:tc><w:tcPr>{properties}</w:tcPr>{inner}</w:tc>"


def field(instruction: str, result: str = "", more: str = "") -> str:
    """Return a complex field, with its result if there is one."""
    shown = f'<w:r><w:fldChar w:fldCharType="separate"/></w:r>{result}' if result else ""
    return (
        f'<w:r><w:fldChar w:fldCharType="begin">{more}</w:fldChar></w:r><w:r><w:instrText xml:space="preserve"> '
        f'{instruction} </w:instrText></w:r>{shown}<w:r><w:fldChar w:fldCharType="end"/></w:r>'
    )


def picture(width: int, height: int, format_name: str = "PNG") -> bytes:
    """Return a picture of this many pixels."""
    out = BytesIO()
    Image.new("RGB", (width, height), (200, 30, 30)).save(out, format_name)
    return out.getvalue()


def drawing(relation: str, name: str = "Picture 1", description: str = "", link: str = "") -> str:
    """Return a run with an embedded picture."""
    click = f'<a:hlinkClick r:id="{link}"/>' if link else ""
    return (
        f'<w:r><w:drawing><wp:inline><wp:extent cx="914400" cy="914400"/><wp:docPr id="1" name="{name}" '
        f'descr="{description}">{click}</wp:docPr><a:graphic><a:graphicData><pic:pic><pic:nvPicPr><pic:cNvPr id="0" '
        f'name="{name}"/></pic:nvPicPr><pic:blipFill><a:blip r:embed="{relation}"/></pic:blipFill></pic:pic>'
        "</a:graphicData></a:graphic></wp:inline></w:drawing></w:r>"
    )


def graphic(content: str) -> str:
    """Return a run with a chart or a diagram."""
    return (
        '<w:r><w:drawing><wp:inline><wp:docPr id="3" name="Graphic 3"/><a:graphic><a:graphicData>'
        f"{content}</a:graphicData></a:graphic></wp:inline></w:drawing></w:r>"
    )


def chart(title: str, categories: Sequence[str], series: Mapping[str, Sequence[str]]) -> str:
    """Return the part of a bar chart."""

    def points(values: Sequence[str]) -> str:
        return "".join(f'<c:pt idx="{index}"><c:v>{value}</c:v></c:pt>' for index, value in enumerate(values))

    rows = "".join(
        f"<c:ser><c:tx><c:strRef><c:strCache>{points([name])}</c:strCache></c:strRef></c:tx><c:cat><c:strRef><c:strCache>"
        f"{points(categories)}</c:strCache></c:strRef></c:cat><c:val><c:numRef><c:numCache>{points(values)}</c:numCache>"
        "</c:numRef></c:val></c:ser>"
        for name, values in series.items()
    )
    head = f"<c:title><c:tx><c:rich><a:p><a:r><a:t>{title}</a:t></a:r></a:p></c:rich></c:tx></c:title>"
    return root("c:chartSpace", f"<c:chart>{head}<c:plotArea><c:barChart>{rows}</c:barChart></c:plotArea></c:chart>")


def diagram(nodes: Mapping[str, str], children: Sequence[tuple[str, str]]) -> str:
    """Return the data part of a SmartArt diagram: the text of each node, and (parent, child) in order."""
    points = '<dgm:pt modelId="root" type="doc"/>' + "".join(
        f'<dgm:pt modelId="{key}"><dgm:t><a:bodyPr/><a:p><a:r><a:t>{text}</a:t></a:r></a:p></dgm:t></dgm:pt>'
        f'<dgm:pt modelId="{key}-pres" type="pres"/>'
        for key, text in nodes.items()
    )
    links = "".join(
        f'<dgm:cxn modelId="c{order}" srcId="{parent}" destId="{child}" srcOrd="{order}" destOrd="0"/>'
        for order, (parent, child) in enumerate(children)
    )
    return root("dgm:dataModel", f"<dgm:ptLst>{points}</dgm:ptLst><dgm:cxnLst>{links}</dgm:cxnLst>")
