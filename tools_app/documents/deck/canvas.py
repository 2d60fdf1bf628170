"""Pages of a PDF on which lines, tables and pictures are drawn, with fonts of this machine."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from io import BytesIO
from pathlib import Path

from fpdf import FPDF, FontFace
from fpdf.enums import TableBordersLayout
from fpdf.fonts import TTFFont

from tools_app.documents.deck.blocks import SlideLine, SlideTable, TextRun
from tools_app.documents.deck.layout import CODE_PADDING, CODE_SIZE, INDENT, LINE_HEIGHT, Box, column_widths

TEXT, LINK, DARK, GREY = (27, 36, 48), (37, 99, 168), (27, 47, 74), (107, 118, 134)
_CODE_BACKGROUND, _STRIPE = (241, 243, 246), (238, 242, 248)
_FOLDERS = (Path("/usr/share/fonts"), Path("/usr/local/share/fonts"))
_STYLES = ("", "B", "I", "BI")
_SANS = (
    tuple(f"LiberationSans-{style}.ttf" for style in ("Regular", "Bold", "Italic", "BoldItalic")),
    tuple(f"DejaVuSans{style}.ttf" for style in ("", "-Bold", "-Oblique", "-BoldOblique")),
    tuple(f"NotoSans-{style}.ttf" for style in ("Regular", "Bold", "Italic", "BoldItalic")),
)
_MONO = (("LiberationMono-Regular.ttf",), ("DejaVuSansMono.ttf",), ("NotoSansMono-Regular.ttf",))
_FALLBACKS = (
    *("DejaVuSans.ttf", "NotoSans-Regular.ttf", "NotoSansCJK-Regular.ttc", "NotoSansCJKsc-Regular.otf"),
    *("wqy-zenhei.ttc", "DroidSansFallbackFull.ttf", "ipag.ttf", "NotoEmoji-Regular.ttf"),
)


class Canvas(FPDF):
    """A PDF in points. `missing` collects characters that no font has."""

    def __init__(self, width: float, height: float) -> None:
        super().__init__(unit="pt", format=(width, height))
        files = _font_files()
        self.sans = self._add_family("sans", _SANS, files) or "helvetica"
        self.mono = self._add_family("mono", _MONO, files) or "courier"
        self._fallbacks = [name for name in _FALLBACKS if name in files]
        self._has_fallbacks = False
        self.missing: dict[str, None] = {}

    def text_of(self, text: str) -> str:
        """Return the text without characters that no font has, which are noted."""
        if self.sans == "helvetica":
            known = text.encode("latin-1", "replace").decode("latin-1")
            self.missing |= dict.fromkeys(char for char, shown in zip(text, known, strict=True) if char != shown)
            return known
        letters = {*text} - {"\n"}
        if letters - self._characters("sans") and not self._has_fallbacks:
            self._has_fallbacks = True
            for name in self._fallbacks:
                self.add_font(name, fname=_font_files()[name])
            self.set_fallback_fonts(self._fallbacks, exact_match=False)
        covered = {"sans", *(map(str.lower, self._fallbacks) if self._has_fallbacks else ())}
        unknown = letters.difference(*map(self._characters, covered))
        self.missing |= dict.fromkeys(char for char in text if char in unknown)
        return text

    def write_line(self, line: SlideLine, box: Box, size: float, colour: tuple[int, int, int] = TEXT) -> None:
        """Write a line at the current height, with its bullet or number, and move below it."""
        is_item = line.has_bullet or line.number is not None
        letters, step = size * (CODE_SIZE if line.kind == "code" else 1), INDENT * size
        left = box.left + step * (line.level + is_item)
        if line.kind == "quote":
            left += 2 * CODE_PADDING
        elif line.kind == "code":
            left += CODE_PADDING
        height = letters * LINE_HEIGHT
        if self.auto_page_break and self.get_y() + height > self.page_break_trigger:
            self.add_page()
        self.set_right_margin(self.w - box.left - box.width)
        top, page = self.get_y(), self.page
        if line.kind == "code":
            self.set_fill_color(_CODE_BACKGROUND)
            self.rect(box.left, top, box.width, height + 0.5, style="F")
        self.set_text_color(colour)
        if is_item:
            self.set_font(self.sans, size=letters)
            self.set_xy(left - step, top)
            bullet = "\u00b7" if self.sans == "helvetica" else "•"
            self.cell(step, height, bullet if line.number is None else f"{line.number}.")
        self.set_left_margin(left)
        self.set_xy(left, top)
        for run in line.runs:
            self._write_run(run, line, letters, colour)
        self.ln(height)
        if line.kind == "quote" and self.page == page:
            self.set_fill_color(LINK)
            self.rect(box.left, top, 4, self.get_y() - top, style="F")
        self.set_left_margin(box.left)
        self.set_x(box.left)

    def write_table(self, table: SlideTable, box: Box, size: float) -> None:
        widths = column_widths(table, size, box.width)
        self.set_left_margin(box.left)
        self.set_x(box.left)
        self.set_text_color(TEXT)
        self.set_font(self.sans, size=size)
        with self.table(
            align="LEFT",
            width=min(sum(widths), self.epw),
            col_widths=tuple(widths),
            line_height=size * LINE_HEIGHT,
            padding=(4, 7),
            text_align=tuple({"right": "RIGHT", "center": "CENTER"}.get(name, "LEFT") for name in table.alignments),
            borders_layout=TableBordersLayout.NONE,
            headings_style=FontFace(emphasis="BOLD", color=(255, 255, 255), fill_color=LINK),
        ) as drawn:
            for index, runs_of_row in enumerate(table.rows):
                row = drawn.row()
                for runs in runs_of_row:
                    text = self.text_of("".join(run.text for run in runs))
                    is_bold = bool(runs) and all(run.is_bold for run in runs)
                    link = next((run.link for run in runs if run.link), None)
                    fill = (255, 255, 255) if index % 2 else _STRIPE
                    style = FontFace(emphasis="BOLD" if is_bold else None, fill_color=fill)
                    row.cell(text, link=link, style=style if index else None)

    def _write_run(self, run: TextRun, line: SlideLine, size: float, colour: tuple[int, int, int]) -> None:
        is_bold, is_italic = run.is_bold or line.kind == "heading", run.is_italic or line.kind == "quote"
        style = "B" * is_bold + "I" * is_italic + "S" * run.is_struck + "U" * bool(run.link)
        is_mono = run.is_code and not {*run.text} - {*map(chr, range(32, 0x250))}
        self.set_font(self.mono if is_mono else self.sans, "" if is_mono else style, size)
        self.set_text_color(LINK if run.link else colour)
        self.write(size * LINE_HEIGHT, self.text_of(run.text), run.link)

    def _characters(self, family: str) -> set[str]:
        font = self.fonts[family]
        return {*map(chr, font.cmap)} if isinstance(font, TTFFont) else set()

    def _add_family(self, family: str, choices: Sequence[Sequence[str]], files: Mapping[str, Path]) -> str:
        for names in choices:
            if all(name in files for name in names):
                for style, name in zip(_STYLES, names, strict=False):
                    self.add_font(family, style, files[name])
                return family
        return ""

    def place_picture(self, data: bytes, box: Box) -> None:
        self.image(BytesIO(data), x=box.left, y=box.top, w=box.width, h=box.height)


@cache
def _font_files() -> dict[str, Path]:
    files: dict[str, Path] = {}
    for folder in _FOLDERS:
        with suppress(OSError):
            files |= {path.name: path for path in folder.rglob("*.[to]t[fc]")}
    return files
