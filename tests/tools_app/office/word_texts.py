"""Word files whose text differs from its plain runs: changes, numbers, fields, comments, notes and hidden text."""

from tests.tools_app.office.files import (
    STEIN,
    WINTER,
    Case,
    deleted,
    field,
    inserted,
    item,
    level,
    numbering,
    paragraph,
    root,
    run,
    table,
    table_cell,
    table_row,
    word,
)

_MARK = "<w:rPr><w:{} w:id='9' {}/></w:rPr>"
_FORMAT = f'<w:rPrChange w:id="4" {WINTER}><w:rPr><w:i/></w:rPr></w:rPrChange>'
_MOVE = '<w:move{0}RangeStart w:id="20" w:name="move1" {1}/><w:move{0} w:id="21" {1}>{2}</w:move{0}><w:move{0}RangeEnd w:id="20"/>'
_STYLED = (
    '<w:style w:type="paragraph" w:styleId="berschrift1"><w:name w:val="heading 1"/><w:pPr><w:numPr><w:numId w:val="1"/>'
    '</w:numPr></w:pPr></w:style><w:style w:type="paragraph" w:styleId="berschrift2"><w:name w:val="heading 2"/>'
    '<w:basedOn w:val="berschrift1"/><w:pPr><w:numPr><w:ilvl w:val="1"/></w:numPr></w:pPr></w:style>'
    '<w:style w:type="paragraph" w:styleId="Klausel"><w:name w:val="Klausel"/><w:pPr><w:numPr><w:numId w:val="1"/>'
    "</w:numPr></w:pPr></w:style>"
)
_COMMENTS = root(
    "w:comments",
    f'<w:comment w:id="3" {WINTER}><w:p w14:paraId="00000001"><w:r><w:t>Too high?</w:t></w:r></w:p></w:comment>'
    f'<w:comment w:id="4" {STEIN}><w:p w14:paraId="00000002"><w:r><w:t>Agreed with sales.</w:t></w:r></w:p></w:comment>'
    f'<w:comment w:id="5" {STEIN}><w:p w14:paraId="00000003"><w:r><w:t>Check the date.</w:t></w:r></w:p></w:comment>',
)
_THREADS = root(
    "w15:commentsEx",
    '<w15:commentEx w15:paraId="00000001" w15:done="0"/><w15:commentEx w15:paraId="00000002" '
    'w15:paraIdParent="00000001" w15:done="0"/><w15:commentEx w15:paraId="00000003" w15:done="1"/>',
)
_CHECKED = '<w:sdt><w:sdtPr><w14:checkbox><w14:checked w14:val="{}"/></w14:checkbox></w:sdtPr><w:sdtContent>{}</w:sdtContent></w:sdt>'
_CHOICES = "".join(f'<w:listItem w:displayText="{name}" w:value="{name}"/>' for name in ("Open", "Paid", "Late"))


def _math(content: str) -> str:
    return f"<m:oMath>{content}</m:oMath>"


def _m(text: str) -> str:
    return f"<m:r><m:t>{text}</m:t></m:r>"


_FRACTION = (
    f"<m:f><m:num>{_m('a+b')}</m:num><m:den>{_m('2c')}</m:den></m:f>{_m('=')}<m:rad><m:radPr><m:degHide m:val='1'/>"
    f"</m:radPr><m:deg/><m:e><m:sSup><m:e>{_m('x')}</m:e><m:sup>{_m('2')}</m:sup></m:sSup>{_m('+1')}</m:e></m:rad>"
)
_SUM = (
    f"<m:nary><m:naryPr><m:chr m:val='∑'/></m:naryPr><m:sub>{_m('i=1')}</m:sub><m:sup>{_m('n')}</m:sup><m:e><m:sSub>"
    f"<m:e>{_m('k')}</m:e><m:sub>{_m('i')}</m:sub></m:sSub></m:e></m:nary>"
)

CASES = [
    Case(
        name="changes by one author",
        data=word(
            paragraph(run("The cap is EUR ") + deleted("250,000") + inserted("300,000") + run(" a year."))
            + paragraph(run("Notice: ") + deleted("six") + inserted("three") + run(" months")),
        ),
        shown=[
            "Tracked changes, not accepted: 2 insertions, 2 deletions by L. Winter (2026-03-10)",
            "The cap is EUR [-250,000-]{+300,000+} a year.",
            "Notice: [-six-]{+three+} months",
        ],
    ),
    Case(
        name="changes by two authors",
        data=word(paragraph(run("Due in ") + deleted("30") + inserted("45", STEIN) + run(" days, ") + inserted("net"))),
        shown=[
            "1 insertion, 1 deletion by L. Winter (2026-03-10); 1 insertion by B. Stein (2026-03-11)",
            "Due in [-30-][by L. Winter, 2026-03-10]{+45+}[by B. Stein, 2026-03-11] days, {+net+}[by L. Winter, 2026-03-10]",
        ],
    ),
    Case(
        name="inserted and deleted paragraphs",
        data=word(
            paragraph("Kept one.")
            + paragraph(inserted("Clause 5.4 is new."), _MARK.format("ins", WINTER))
            + paragraph(deleted("Clause 7.9 is gone."), _MARK.format("del", WINTER))
            + paragraph("Kept two.")
        ),
        shown=["{+Clause 5.4 is new.+}", "[-Clause 7.9 is gone.-]", "1 insertion, 1 deletion by L. Winter"],
    ),
    Case(
        name="a paragraph that was split and one that was joined",
        data=word(
            paragraph(run("First half."), _MARK.format("ins", STEIN))
            + paragraph("Second half.")
            + paragraph(run("Joined "), _MARK.format("del", STEIN))
            + paragraph("sentence.")
        ),
        shown=["First half.{+¶+}", "Joined [-¶-]", "sentence.", "by B. Stein (2026-03-11)"],
    ),
    Case(
        name="inserted and deleted table rows",
        data=word(
            "<w:tbl><w:tblPr/>"
            + table_row("Item", "Price")
            + table_row("Training", "1,250.00", properties=f'<w:ins w:id="5" {WINTER}/>')
            + table_row("Travel", "480.50", properties=f'<w:del w:id="6" {WINTER}/>')
            + "</w:tbl>"
        ),
        shown=["| Item | Price |", "| {+Training+} | {+1,250.00+} |", "| [-Travel-] | [-480.50-] |"],
    ),
    Case(
        name="moved text",
        data=word(
            paragraph(_MOVE.format("From", WINTER, run("Payment in 14 days.")))
            + paragraph("Between both.")
            + paragraph(_MOVE.format("To", WINTER, run("Payment in 14 days.")))
        ),
        shown=["[moved 1: from here]", "[moved 1: to here]{+Payment in 14 days.+}", "1 move by L. Winter (2026-03-10)"],
        once=["Payment in 14 days."],
    ),
    Case(
        name="changed formatting",
        data=word(
            paragraph(
                run("Bold since 9 May", f"<w:b/>{_FORMAT}"),
                f'<w:pPrChange w:id="5" {WINTER}><w:pPr><w:pStyle w:val="Heading1"/></w:pPr></w:pPrChange>',
            )
        ),
        shown=["Bold since 9 May"],
        absent=["Tracked changes", "Winter"],
    ),
    Case(
        name="changes in a footnote and a header",
        data=word(
            paragraph(run("Text") + '<w:r><w:footnoteReference w:id="2"/></w:r>')
            + '<w:sectPr><w:headerReference w:type="default" r:id="h"/></w:sectPr>',
            targets={"h": ("header", "header1.xml"), "f": ("footnotes", "footnotes.xml")},
            parts={
                "word/header1.xml": root("w:hdr", paragraph(run("Version ") + deleted("3") + inserted("4"))),
                "word/footnotes.xml": root(
                    "w:footnotes",
                    f'<w:footnote w:id="2">{paragraph(run("See page ") + deleted("17") + inserted("18"))}</w:footnote>',
                ),
            },
        ),
        shown=["Header: Version [-3-]{+4+}", "Text[^1]", "[^1]: See page [-17-]{+18+}", "2 insertions, 2 deletions"],
    ),
    Case(
        name="a deleted item of a list",
        data=word(
            item("Alpha")
            + paragraph(
                deleted("Beta"),
                f'<w:numPr><w:ilvl w:val="0"/><w:numId w:val="1"/></w:numPr>{_MARK.format("del", WINTER)}',
            )
            + item("Gamma"),
            numbering=numbering(level(0, "%1.")),
        ),
        shown=["1. Alpha", "[-2. Beta-]", "2. Gamma"],
    ),
    Case(
        name="multi-level numbers",
        data=word(
            "".join(item(*one) for one in (("Fees", 0), ("Amount", 1), ("In euro", 2), ("In dollar", 2), ("Due", 1)))
            + "".join(item(*one) for one in (("Term", 0), ("Months", 1), ("Start", 2))),
            numbering=numbering(level(0, "%1") + level(1, "%1.%2") + level(2, "(%3)", "lowerLetter")),
        ),
        shown=["1 Fees", "1.1 Amount", "(a) In euro", "(b) In dollar", "1.2 Due", "2 Term", "2.1 Months", "(a) Start"],
    ),
    Case(
        name="paragraph signs, articles, roman numbers and letters",
        data=word(
            item("Geltung", 0)
            + item("Umfang", 0)
            + item("Regel", 1)
            + item("Ausnahme", 1)
            + item("Fall", 2)
            + item("Art", 3),
            numbering=numbering(
                level(0, "§ %1")
                + level(1, "(%2)")
                + level(2, "%3)", "lowerLetter")
                + level(3, "Art. %4", "upperRoman", "", 4)
            ),
        ),
        shown=["§ 1 Geltung", "§ 2 Umfang", "(1) Regel", "(2) Ausnahme", "a) Fall", "Art. IV Art"],
    ),
    Case(
        name="a list that starts again, and one that starts at another number",
        data=word(
            item("one")
            + item("two")
            + paragraph("Between")
            + item("three")
            + item("again", 0, 2)
            + item("next", 0, 2)
            + item("ninth", 0, 3),
            numbering=numbering(
                level(0, "%1."),
                '<w:num w:numId="1"><w:abstractNumId w:val="5"/></w:num><w:num w:numId="2"><w:abstractNumId w:val="5"/>'
                '<w:lvlOverride w:ilvl="0"><w:startOverride w:val="1"/></w:lvlOverride></w:num><w:num w:numId="3">'
                '<w:abstractNumId w:val="5"/><w:lvlOverride w:ilvl="0"><w:startOverride w:val="9"/></w:lvlOverride></w:num>',
            ),
        ),
        shown=["1. one", "2. two", "3. three", "1. again", "2. next", "9. ninth"],
    ),
    Case(
        name="numbers from styles",
        data=word(
            paragraph("Gegenstand", '<w:pStyle w:val="berschrift1"/>')
            + paragraph("Leistung", '<w:pStyle w:val="berschrift2"/>')
            + paragraph("Erste Klausel", '<w:pStyle w:val="Klausel"/>')
            + paragraph("Zweite Klausel", '<w:pStyle w:val="Klausel"/>')
            + paragraph("Haftung", '<w:pStyle w:val="berschrift1"/>')
            + paragraph("Ohne Nummer", '<w:pStyle w:val="berschrift1"/><w:numPr><w:numId w:val="0"/></w:numPr>'),
            styles=_STYLED,
            numbering=numbering(
                level(0, "%1", more='<w:pStyle w:val="berschrift1"/>')
                + level(1, "%1.%2", more='<w:pStyle w:val="berschrift2"/>')
                + level(2, "%1.%2.%3", more='<w:pStyle w:val="Klausel"/>')
            ),
        ),
        shown=[
            "# 1 Gegenstand",
            "## 1.1 Leistung",
            "1.1.1 Erste Klausel",
            "1.1.2 Zweite Klausel",
            "# 2 Haftung",
            "# Ohne Nummer",
        ],
    ),
    Case(
        name="numbers through a style of lists",
        data=word(
            item("Erstens", 0, 7) + item("Zweitens", 0, 7),
            styles='<w:style w:type="numbering" w:styleId="Liste"><w:pPr><w:numPr><w:numId w:val="8"/></w:numPr></w:pPr></w:style>',
            numbering='<w:abstractNum w:abstractNumId="1"><w:numStyleLink w:val="Liste"/></w:abstractNum>'
            f'<w:abstractNum w:abstractNumId="2"><w:styleLink w:val="Liste"/>{level(0, "Punkt %1:")}</w:abstractNum>'
            '<w:num w:numId="7"><w:abstractNumId w:val="1"/></w:num><w:num w:numId="8"><w:abstractNumId w:val="2"/></w:num>',
        ),
        shown=["Punkt 1: Erstens", "Punkt 2: Zweitens"],
    ),
    Case(
        name="forms of numbers",
        data=word(
            item("upper", 0)
            + item("far", 1)
            + item("further", 1)
            + item("zero", 2)
            + item("ordinal", 3)
            + item("legal", 4)
            + item("padded", 5)
            + item("lower", 6),
            numbering=numbering(
                level(0, "%1.", "upperRoman", start=14)
                + level(1, "%2.", "lowerLetter", start=27)
                + level(2, "%3", "decimalZero", start=7)
                + level(3, "%4", "ordinal", start=22)
                + level(4, "%1.%5", "decimal", "<w:isLgl/>")
                + '<w:lvl w:ilvl="5"><w:start w:val="5"/><mc:AlternateContent><mc:Choice Requires="w14"><w:numFmt '
                'w:val="custom" w:format="001, 002, 003, ..."/></mc:Choice><mc:Fallback><w:numFmt w:val="decimal"/>'
                '</mc:Fallback></mc:AlternateContent><w:lvlText w:val="%6"/></w:lvl>'
                + level(6, "%7)", "lowerRoman", start=49)
            ),
        ),
        shown=[
            "XIV. upper",
            "aa. far",
            "bb. further",
            "07 zero",
            "22nd ordinal",
            "14.1 legal",
            "005 padded",
            "xlix) lower",
        ],
    ),
    Case(
        name="numbers that go on below the next heading",
        data=word(
            item("Part", 0) + item("first", 1) + item("second", 1) + item("Part", 0) + item("third", 1),
            numbering=numbering(
                level(0, "Part %1", "upperLetter") + level(1, "[%2]", more='<w:lvlRestart w:val="0"/>')
            ),
        ),
        shown=["Part A Part", "[1] first", "[2] second", "Part B Part", "[3] third"],
    ),
    Case(
        name="bullets and their levels",
        data=word(
            item("Bread") + item("Rye", 1) + item("Milk") + item("done", 2) + item("open", 3),
            numbering=numbering(
                level(0, "\uf0b7", "bullet", '<w:rPr><w:rFonts w:ascii="Symbol"/></w:rPr>')
                + level(1, "o", "bullet")
                + level(2, "\uf0fc", "bullet", '<w:rPr><w:rFonts w:ascii="Wingdings"/></w:rPr>')
                + level(3, "☐", "bullet")
            ),
        ),
        shown=["- Bread", "  - Rye", "- Milk", "✓ done", "☐ open"],
    ),
    Case(
        name="numbers in the cells of a table",
        data=word(
            table(
                ["No.", "Task"],
                [table_cell(item("", 0)), "Design"],
                [table_cell(item("", 0)), "Build"],
                ["x", table_cell(item("inner", 1) + item("outer", 1))],
            ),
            numbering=numbering(level(0, "%1.") + level(1, "%1.%2")),
        ),
        shown=["| 1. | Design |", "| 2. | Build |", "2.1 inner", "2.2 outer"],
    ),
    Case(
        name="links",
        data=word(
            paragraph('<w:hyperlink r:id="a"><w:r><w:t>our terms</w:t></w:r></w:hyperlink>')
            + paragraph('<w:hyperlink r:id="b"><w:r><w:t>Ms Roth</w:t></w:r></w:hyperlink>')
            + paragraph(field('HYPERLINK "https://example.org/price?x=7" \\o "tip"', run("price list 2026")))
            + paragraph(
                '<w:fldSimple w:instr=" HYPERLINK &quot;https://example.org/old&quot; "><w:r><w:t>old list</w:t></w:r></w:fldSimple>'
            )
            + paragraph('<w:hyperlink w:anchor="_Toc1"><w:r><w:t>Chapter 3</w:t></w:r></w:hyperlink>')
            + paragraph('<w:hyperlink r:id="c"><w:r><w:t>https://example.org/same</w:t></w:r></w:hyperlink>'),
            targets={
                "a": ("hyperlink", "https://example.org/terms", "External"),
                "b": ("hyperlink", "mailto:roth@example.org", "External"),
                "c": ("hyperlink", "https://example.org/same", "External"),
            },
        ),
        shown=[
            "[our terms](https://example.org/terms)",
            "[Ms Roth](mailto:roth@example.org)",
            "[price list 2026](https://example.org/price?x=7)",
            "[old list](https://example.org/old)",
            "Chapter 3",
            "https://example.org/same",
        ],
        once=["https://example.org/same"],
    ),
    Case(
        name="a change inside a link",
        data=word(
            paragraph(f'<w:hyperlink r:id="a">{deleted("draft")}{inserted("final")}</w:hyperlink>'),
            targets={"a": ("hyperlink", "https://example.org/doc", "External")},
        ),
        shown=["[[-draft-]{+final+}](https://example.org/doc)"],
    ),
    Case(
        name="comments with replies",
        data=word(
            paragraph(
                run("A fee of ")
                + '<w:commentRangeStart w:id="3"/><w:commentRangeStart w:id="4"/>'
                + run("EUR 900")
                + '<w:commentRangeEnd w:id="3"/><w:r><w:commentReference w:id="3"/></w:r><w:commentRangeEnd w:id="4"/>'
                '<w:r><w:commentReference w:id="4"/></w:r>'
                + run(" from ")
                + '<w:commentRangeStart w:id="5"/>'
                + run("1 July")
                + '<w:commentRangeEnd w:id="5"/><w:r><w:commentReference w:id="5"/></w:r>'
            ),
            targets={"c": ("comments", "comments.xml"), "x": ("commentsExtended", "commentsExtended.xml")},
            parts={"word/comments.xml": _COMMENTS, "word/commentsExtended.xml": _THREADS},
        ),
        shown=[
            "A fee of EUR 900[comment 3] from 1 July[comment 5]",
            "[comment 3]: L. Winter, 2026-03-10, on “EUR 900”: Too high?",
            "[comment 4]: B. Stein, 2026-03-11, reply to comment 3: Agreed with sales.",
            "[comment 5]: B. Stein, 2026-03-11, resolved, on “1 July”: Check the date.",
        ],
    ),
    Case(
        name="a comment without a place",
        data=word(
            paragraph("Text"),
            targets={"c": ("comments", "comments.xml")},
            parts={"word/comments.xml": _COMMENTS},
        ),
        shown=["[comment 3]: L. Winter, 2026-03-10: Too high?", "Check the date."],
    ),
    Case(
        name="notes as they are printed",
        data=word(
            paragraph(
                run("First")
                + '<w:r><w:footnoteReference w:id="5"/></w:r>'
                + run(" second")
                + '<w:r><w:footnoteReference w:id="2"/></w:r>'
            )
            + paragraph(run("Third") + '<w:r><w:endnoteReference w:id="2"/></w:r>')
            + paragraph(
                run("Fourth") + '<w:r><w:footnoteReference w:customMarkFollows="1" w:id="3"/><w:t>*</w:t></w:r>'
            ),
            targets={"f": ("footnotes", "footnotes.xml"), "e": ("endnotes", "endnotes.xml")},
            parts={
                "word/footnotes.xml": root(
                    "w:footnotes",
                    "".join(
                        f'<w:footnote w:id="{key}">{paragraph(text)}</w:footnote>'
                        for key, text in ((5, "BGH, 12.3.2024"), (2, "ibid., p. 44"), (3, "estimated"))
                    ),
                ),
                "word/endnotes.xml": root(
                    "w:endnotes", f'<w:endnote w:id="2">{paragraph("Annual report 2025")}</w:endnote>'
                ),
            },
        ),
        shown=[
            "First[^1] second[^2]",
            "Third[^i]",
            "Fourth[^*]",
            "[^1]: BGH, 12.3.2024",
            "[^2]: ibid., p. 44",
            "[^i]: Annual report 2025",
            "[^*]: estimated",
        ],
    ),
    Case(
        name="fields",
        data=word(
            paragraph(field('TOC \\o "1-3"', run("Summary") + "<w:r><w:tab/></w:r>" + run("4")))
            + paragraph(run("As in section ") + field("REF _Ref5 \\r \\h", run("3.2")))
            + paragraph(field("IF { MERGEFIELD x }", run("Dear customer")))
            + paragraph(field(f'IF {field("MERGEFIELD Sex", run("male"))} = "m" "Sir" "Madam"', run("Dear Madam")))
            + paragraph(run("Page ") + field("PAGE"))
            + paragraph(run("Term") + field('XE "Term:hidden"') + run(" defined"))
            + paragraph('<w:fldSimple w:instr="DATE"><w:r><w:t>28.11.2026</w:t></w:r></w:fldSimple>')
            + paragraph(field("MACROBUTTON NoMacro [Enter name]")),
        ),
        shown=[
            "Summary\t4",
            "As in section 3.2",
            "Dear customer",
            "Dear Madam",
            "Page [field PAGE]",
            "Term defined",
            "28.11.2026",
            "[Enter name]",
        ],
        absent=["hidden", "TOC"],
    ),
    Case(
        name="a field that never ends",
        data=word(
            paragraph(
                '<w:r><w:fldChar w:fldCharType="begin"/></w:r><w:r><w:instrText>REF x</w:instrText></w:r>'
                + run("Kept 12")
            )
            + paragraph("And kept 13")
        ),
        shown=["Kept 12", "And kept 13"],
    ),
    Case(
        name="controls of an old form",
        data=word(
            paragraph(
                run("Married ")
                + field(
                    "FORMCHECKBOX",
                    more='<w:ffData><w:checkBox><w:default w:val="0"/><w:checked/></w:checkBox></w:ffData>',
                )
            )
            + paragraph(
                run("Smoker ")
                + field("FORMCHECKBOX", more='<w:ffData><w:checkBox><w:default w:val="0"/></w:checkBox></w:ffData>')
            )
            + paragraph(
                run("Class ")
                + field(
                    "FORMDROPDOWN",
                    more='<w:ffData><w:ddList><w:result w:val="1"/><w:listEntry w:val="Economy"/><w:listEntry w:val="Business"/></w:ddList></w:ffData>',
                )
            )
            + paragraph(run("Name ") + field("FORMTEXT", run("Erika Muster")))
        ),
        shown=["Married ☒", "Smoker ☐", "Class Business [choices: Economy, Business]", "Name Erika Muster"],
    ),
    Case(
        name="content controls",
        data=word(
            paragraph(_CHECKED.format("1", run("☒")) + run(" delivered"))
            + paragraph(_CHECKED.format("0", '<w:r><w:sym w:font="Wingdings" w:char="F0A8"/></w:r>') + run(" invoiced"))
            + paragraph(
                run("State: ")
                + f"<w:sdt><w:sdtPr><w:dropDownList>{_CHOICES}</w:dropDownList></w:sdtPr><w:sdtContent>{run('Paid')}</w:sdtContent></w:sdt>"
            )
            + paragraph(
                run("Day: ")
                + f'<w:sdt><w:sdtPr><w:date w:fullDate="2026-05-04T00:00:00Z"/></w:sdtPr><w:sdtContent>{run("4 May 2026")}</w:sdtContent></w:sdt>'
            )
            + paragraph(
                run("Who: ")
                + f'<w:sdt><w:sdtPr><w:alias w:val="Contact"/><w:showingPlcHdr/></w:sdtPr><w:sdtContent>{run("Enter a name.")}</w:sdtContent></w:sdt>'
            )
            + f"<w:sdt><w:sdtPr/><w:sdtContent>{paragraph('In a block 77')}</w:sdtContent></w:sdt>"
            + f"<w:tbl><w:sdt><w:sdtContent>{table_row('row in control', '5,5')}</w:sdtContent></w:sdt></w:tbl>"
        ),
        shown=[
            "☒ delivered",
            "☐ invoiced",
            "State: Paid [choices: Open, Paid, Late]",
            "Day: 4 May 2026",
            "Who: [empty field “Contact”: Enter a name.]",
            "In a block 77",
            "| row in control | 5,5 |",
        ],
    ),
    Case(
        name="equations",
        data=word(
            paragraph(_math(_FRACTION))
            + paragraph(f"<m:oMathPara>{_math(_SUM)}</m:oMathPara>")
            + paragraph(
                _math(
                    f"<m:d><m:dPr><m:begChr m:val='['/><m:endChr m:val=']'/></m:dPr><m:e><m:m><m:mr><m:e>{_m('1')}</m:e>"
                    f"<m:e>{_m('0')}</m:e></m:mr><m:mr><m:e>{_m('7')}</m:e><m:e>{_m('8')}</m:e></m:mr></m:m></m:e></m:d>"
                )
            )
            + paragraph(
                _math(
                    f"<m:func><m:fName>{_m('sin')}</m:fName><m:e>{_m('θ')}</m:e></m:func>{_m('≤')}<m:acc><m:accPr>"
                    f"<m:chr m:val='&#x302;'/></m:accPr><m:e>{_m('y')}</m:e></m:acc>"
                )
            )
        ),
        shown=["(a+b)/2c=√(x^2+1)", "∑_(i=1)^n k_i", "[■(1&0@7&8)]", "sin θ≤"],
    ),
    Case(
        name="symbols",
        data=word(
            paragraph(
                run("Angle ")
                + '<w:r><w:sym w:font="Symbol" w:char="F061"/></w:r>'
                + run(" is 30")
                + '<w:r><w:sym w:font="Symbol" w:char="F0B0"/></w:r>'
            )
            + paragraph('<w:r><w:sym w:font="Wingdings" w:char="F0FC"/></w:r>' + run(" done"))
            + paragraph(
                run("\uf0b3", '<w:rFonts w:ascii="Symbol" w:hAnsi="Symbol"/>')
                + run(" 5 ")
                + run("m", '<w:rFonts w:ascii="Symbol" w:hAnsi="Symbol"/>')
                + run("g")
            )
            + paragraph('<w:r><w:sym w:font="Obscure" w:char="F041"/></w:r>' + run(" unknown"))
        ),
        shown=["Angle α is 30°", "✓ done", "≥ 5 μg", "[symbol Obscure F041] unknown"],
    ),
    Case(
        name="hyphens and fixed spaces",
        data=word(
            paragraph("<w:r><w:t>Donaudampf</w:t><w:softHyphen/><w:t>schiff</w:t></w:r>")
            + paragraph("<w:r><w:t>T</w:t><w:noBreakHyphen/><w:t>Shirt</w:t></w:r>")
            + paragraph("EUR\u00a010\u202f000")
            + paragraph("Jahres\u00adbericht")
            + paragraph("A\u20114")
        ),
        shown=["Donaudampfschiff", "T-Shirt", "EUR 10 000", "Jahresbericht", "A-4"],
    ),
    Case(
        name="ruby",
        data=word(
            paragraph(
                "<w:r><w:ruby><w:rubyPr/><w:rt><w:r><w:t>とうきょう</w:t></w:r></w:rt><w:rubyBase><w:r><w:t>東京</w:t></w:r></w:rubyBase></w:ruby></w:r>"
            )
        ),
        shown=["東京(とうきょう)"],
    ),
    Case(
        name="hidden text",
        data=word(
            paragraph(run("Price 12 ") + run("cost 7", "<w:vanish/>") + run(" margin 5", "<w:vanish/>") + run(" net"))
            + paragraph(run("secret note 44", '<w:rStyle w:val="Geheim"/>'))
            + paragraph(run("not hidden 9", '<w:vanish w:val="0"/>'))
            + paragraph(run("page 3", "<w:webHidden/>")),
            styles='<w:style w:type="character" w:styleId="Geheim"><w:name w:val="Geheim"/><w:rPr><w:vanish/></w:rPr></w:style>',
        ),
        shown=["Price 12 [hidden: cost 7 margin 5] net", "[hidden: secret note 44]", "not hidden 9", "page 3"],
        absent=["[hidden: page", "[hidden: not"],
    ),
    Case(
        name="struck and raised text",
        data=word(
            paragraph(run("Was ") + run("99 EUR", "<w:strike/>") + run(" now 79 EUR"))
            + paragraph(
                run("10")
                + run("6", '<w:vertAlign w:val="superscript"/>')
                + run(" units, 1")
                + run("st", '<w:vertAlign w:val="superscript"/>')
                + run(" of CO")
                + run("2", '<w:vertAlign w:val="subscript"/>')
            )
            + paragraph(run("choosing 1 noted", '<w:vertAlign w:val="superscript"/>'))
        ),
        shown=["Was ~~99 EUR~~ now 79 EUR", "10⁶ units, 1st of CO2", "choosing 1 noted"],
    ),
]
