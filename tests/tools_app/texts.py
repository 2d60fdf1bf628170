"""Small texts and e-mails in the encodings of the world, with the words that a reader must see."""

from base64 import b64encode
from collections.abc import Mapping
from quopri import encodestring

UNDECLARED: Mapping[str, tuple[str, str]] = {  # the codec, and the text
    "Chinese, one line": ("gb18030", "合同编号：2026-031，总金额人民币一百二十万元。\n"),
    "Chinese table": ("gb18030", "姓名,部门,工资\n王小明,财务部,8500\n李娜,销售部,9200\n"),
    "Chinese and English": ("gbk", "Project Apollo 项目进度报告 Q3 2026\nStatus: 已完成 80%\n"),
    "Chinese, traditional": ("big5", "會議記錄：下週三上午十點開會，請準時出席。\n"),
    "Japanese invoice": ("cp932", "請求書\n株式会社山田商事 御中\n合計金額：１２，０００円（税込）\n"),
    "Japanese prose": ("cp932", "お世話になっております。来週の会議の資料を送ります。\n"),
    "Japanese, EUC": ("euc_jp", "これはテストです。よろしくお願いします。\n"),
    "Japanese, seven bits": ("iso2022_jp", "会議は水曜日です。\n"),
    "Korean": ("cp949", "안녕하세요. 회의는 수요일 오전 10시에 시작합니다.\n"),
    "Russian, KOI8": ("koi8_r", "Договор аренды помещения от 12 марта 2026 года\n"),
    "Russian, Windows": ("cp1251", "Счёт на оплату № 17\nИтого: 1 200 руб.\n"),
    "Russian, capitals": ("cp1251", "ДОГОВОР ПОСТАВКИ\nООО «РОМАШКА»\n"),
    "Russian, DOS": ("cp866", "Список товаров на складе: гвозди, молотки\n"),
    "Ukrainian, KOI8": ("koi8_u", "Україна має довгу історію, її їжаки дуже цікаві\n"),
    "German table": ("cp1252", "Straße;Ort;Größe\nÄußere Weberstraße;Zittau;12,5 m²\n"),
    "German with quotes": ("cp1252", "Preis: 5 € – „sofort“ lieferbar\n"),
    "German, DOS": ("cp850", "Müller;Köln;Straße\nJäger;Lübeck;Höfe\n"),
    "French": ("cp1252", "L’été à la plage : ça coûte 20 €, cœur léger\n"),
    "Spanish": ("latin-1", "¿Mañana? Sí, señor: el niño comió piñón\n"),
    "Portuguese": ("latin-1", "A reunião não será amanhã; informações à direcção\n"),
    "Swedish": ("latin-1", "Åsa åkte på smörgåsbord i Göteborg\n"),
    "Polish": ("cp1250", "Zażółć gęślą jaźń; spółka z ograniczoną odpowiedzialnością\n"),
    "Czech": ("cp1250", "Příliš žluťoučký kůň úpěl ďábelské ódy\n"),
    "Hungarian": ("cp1250", "Őszi eső, fűtött szoba, tűző nap a hűvösben\n"),
    "Polish, ISO": ("iso8859_2", "Wartość zamówienia: 1 200 zł, płatność w ciągu 14 dni, książka\n"),
    "Greek": ("cp1253", "Καλημέρα κόσμε, η συνάντηση είναι την Τετάρτη\n"),
    "Turkish": ("cp1254", "İstanbul'da yaşıyorum, ışık güneşli bir gün değil\n"),
    "Hebrew": ("cp1255", "שלום עולם, הפגישה ביום רביעי\n"),
    "Arabic": ("cp1256", "مرحبا بالعالم، الاجتماع يوم الأربعاء\n"),
    "Thai": ("cp874", "สวัสดีครับ การประชุมวันพุธ\n"),
    "Russian, wide, no mark": ("utf-16-le", "Отчёт за год\nВторая строка отчёта\n"),
    "German, wide, big-endian, no mark": ("utf-16-be", "Straße nach Köln\nGrüße\n"),
    "Chinese, wide, no mark": ("utf-16-le", "合同编号 2026\n总金额一百二十万元\n第三行\n"),
    "Russian, wide, mark": ("utf-16", "Отчёт за год\n"),
    "German, UTF-8 mark": ("utf-8-sig", "Größe;Straße\n"),
}


def _mail(head: str, body: bytes, *, subject: bytes = b"Test") -> bytes:
    return b"From: Ada <ada@example.org>\r\nSubject: " + subject + b"\r\n" + head.encode() + b"\r\n" + body


def _typed(charset: str, body: bytes, transfer: str = "8bit", subtype: str = "plain") -> bytes:
    return _mail(
        f"Content-Type: text/{subtype}; charset={charset}\r\nContent-Transfer-Encoding: {transfer}\r\n", body + b"\r\n"
    )


def _multipart(*parts: bytes, kind: str = "mixed") -> bytes:
    body = b"".join(b"--XX\r\n" + part + b"\r\n" for part in parts) + b"--XX--\r\n"
    return _mail(f'MIME-Version: 1.0\r\nContent-Type: multipart/{kind}; boundary="XX"\r\n', body)


def _tnef() -> bytes:
    """Return a winmail.dat with one attached text ([MS-OXTNEF])."""

    def attribute(level: int, tag: int, data: bytes) -> bytes:
        return bytes([level]) + tag.to_bytes(4, "little") + len(data).to_bytes(4, "little") + data + b"\0\0"

    return (
        (0x223E9F78).to_bytes(4, "little")
        + b"\1\0"
        + attribute(1, 0x0002800C, b"Body words\0")
        + attribute(2, 0x00069002, b"\1" + bytes(13))
        + attribute(2, 0x00018010, b"prices.csv\0")
        + attribute(2, 0x0006800F, b"item;price\npear;2.50\n")
    )


_EURO = "Preis 5 € „quote“ — Größe"
_RUSSIAN = "Добрый день, отправляю договор"
MAILS: Mapping[str, tuple[bytes, tuple[str, ...]]] = {  # an e-mail, and the words
    "gb2312 means gb18030": (_typed("gb2312", "价格：100 镕基 €".encode("gb18030")), ("价格：100 镕基 €",)),
    "gbk with quotes": (_typed('"GBK"', "开会 朱镕基".encode("gb18030")), ("开会 朱镕基",)),
    "latin-1 means cp1252": (_typed("iso-8859-1", _EURO.encode("cp1252")), (_EURO,)),
    "ascii means cp1252": (_typed("us-ascii", _EURO.encode("cp1252")), (_EURO,)),
    "ascii that is UTF-8": (_typed("us-ascii", _EURO.encode()), (_EURO,)),
    "shift_jis means cp932": (_typed("Shift_JIS", "①髙橋様 №1".encode("cp932")), ("①髙橋様 №1",)),
    "koi8-r in base64": (_typed("koi8-r", b64encode(_RUSSIAN.encode("koi8_r")), "base64"), (_RUSSIAN,)),
    "unknown-8bit, KOI8": (_typed("unknown-8bit", _RUSSIAN.encode("koi8_r")), (_RUSSIAN,)),
    "x-unknown, cp1251": (
        _typed("x-unknown", encodestring(_RUSSIAN.encode("cp1251")), "quoted-printable"),
        (_RUSSIAN,),
    ),
    "x-user-defined, German": (_typed("x-user-defined", "Grüße aus München".encode("latin-1")), ("Grüße aus München",)),
    "x-sjis": (_typed("x-sjis", "会議は水曜日です".encode("cp932")), ("会議は水曜日です",)),
    "ks_c_5601-1987": (_typed("ks_c_5601-1987", "회의는 똠방각하".encode("cp949")), ("회의는 똠방각하",)),
    "UTF-16 in base64": (_typed("utf-16", b64encode("Grüße 合同".encode("utf-16")), "base64"), ("Grüße 合同",)),
    "UTF-8 declared, cp1252 sent": (_typed("utf-8", "Grüße aus Köln".encode("cp1252")), ("Grüße aus Köln",)),
    "no charset, cp1251": (_mail("", _RUSSIAN.encode("cp1251")), (_RUSSIAN,)),
    "raw UTF-8 header": (_mail("", b"x", subject="Grüße an Łukasz".encode()), ("Subject: Grüße an Łukasz",)),
    "raw KOI8 header": (_mail("", b"x", subject="Договор аренды".encode("koi8_r")), ("Subject: Договор аренды",)),
    "gb2312 in a header": (
        _mail("", b"x", subject=b"=?gb2312?B?" + b64encode("朱镕基 讲话".encode("gb18030")) + b"?="),
        ("Subject: 朱镕基 讲话",),
    ),
    "unknown charset in a header": (
        _mail("", b"x", subject=b"=?x-unknown?Q?" + encodestring("Größe".encode("cp1252")).strip() + b"?="),
        ("Subject: Größe",),
    ),
    "character cut between two words": (
        _mail(
            "",
            b"x",
            subject=b"=?utf-8?B?" + b64encode(b"Gr\xc3") + b"?=\r\n =?utf-8?B?" + b64encode(b"\xb6\xc3\x9fe") + b"?=",
        ),
        ("Subject: Größe",),
    ),
    "spaces in an encoded word": (
        _mail("", b"x", subject=b"=?utf-8?Q?Gr=C3=BC=C3=9Fe aus K=C3=B6ln?="),
        ("Grüße aus Köln",),
    ),
    "quoted encoded sender": (
        b'From: "=?koi8-r?B?'
        + b64encode("Иван Петров".encode("koi8_r"))
        + b'?=" <i@example.org>\r\nSubject: x\r\n\r\nx',
        ("Иван Петров", "i@example.org"),
    ),
    "damaged quoted-printable": (
        _typed("utf-8", b"Gr=C3=BC=C3=9Fe =ZZ 50 % = 7 =", "quoted-printable"),
        ("Grüße", "50 %"),
    ),
    "damaged base64": (
        _typed("utf-8", b64encode(b"first words, then more words")[:-3] + b"*\r\n!", "base64"),
        ("first words",),
    ),
    "name with RFC 2231 in pieces": (
        _multipart(
            b"Content-Type: text/plain\r\n\r\nsee file",
            b"Content-Type: text/csv\r\nContent-Disposition: attachment; filename*0*=iso-8859-1''%DCber;\r\n"
            b" filename*1*=sicht;\r\n filename*2=.csv\r\n\r\na;b\r\n1;2\r\n",
        ),
        ("see file", "Übersicht.csv"),
    ),
    "raw name in KOI8": (
        _multipart(
            b"Content-Type: text/plain\r\n\r\nsee file",
            'Content-Type: text/plain\r\nContent-Disposition: attachment; filename="договор.txt"\r\n\r\ninner'.encode(
                "koi8_r"
            ),
        ),
        ("договор.txt", "inner"),
    ),
    "encoded word as a name": (
        _multipart(
            b"Content-Type: text/plain\r\n\r\nsee file",
            b'Content-Type: application/octet-stream; name="=?gb2312?B?'
            + b64encode("合同.txt".encode("gbk"))
            + b'?="\r\n'
            b"Content-Transfer-Encoding: base64\r\n\r\n" + b64encode("总金额一百万元".encode("gbk")),
        ),
        ("合同.txt", "总金额一百万元"),
    ),
    "attached text in cp1252": (
        _multipart(
            b"Content-Type: text/plain\r\n\r\nsee file",
            b'Content-Type: text/csv; name="a.csv"\r\nContent-Disposition: attachment\r\n\r\nOrt;Umsatz\r\nK\xf6ln;1.234,50\r\n',
        ),
        ("Köln", "1.234,50"),
    ),
    "nested message": (
        _multipart(
            b"Content-Type: text/plain\r\n\r\nouter",
            b"Content-Type: message/rfc822\r\n\r\n" + _typed("gb2312", "内层邮件的正文".encode("gbk")),
        ),
        ("outer", "内层邮件的正文"),
    ),
    "attachment within an alternative": (
        _multipart(
            b"Content-Type: text/plain\r\n\r\nplain words",
            b'Content-Type: multipart/mixed; boundary="YY"\r\n\r\n--YY\r\nContent-Type: text/html\r\n\r\n<p>plain words</p>\r\n'
            b'--YY\r\nContent-Type: text/plain; name="inner.txt"\r\nContent-Disposition: attachment\r\n\r\ninner words\r\n--YY--',
            kind="alternative",
        ),
        ("plain words", "inner.txt", "inner words"),
    ),
    "winmail.dat": (
        _multipart(
            b"Content-Type: text/plain\r\n\r\nouter",
            b'Content-Type: application/ms-tnef; name="winmail.dat"\r\nContent-Transfer-Encoding: base64\r\n\r\n'
            + b64encode(_tnef()),
        ),
        ("outer", "winmail.dat", "Body words", "prices.csv", "pear", "2.50"),
    ),
    "HTML that declares its charset": (
        _mail("Content-Type: text/html\r\n", '<meta charset="windows-1251"><p>Добрый день'.encode("cp1251")),
        ("Добрый день",),
    ),
    "line ends without returns": (
        b"From: a@example.org\nSubject: =?iso-8859-1?Q?Gr=FC=DFe_=80?=\n\nGr\xfc\xdfe\n",
        ("Subject: Grüße €", "Grüße"),
    ),
}
