"""A guess of the charset of text that declares none.

Each candidate is decoded strictly, and its characters beyond ASCII are compared with the usual ones of its languages.
Only the standard library is used, as the process that searches files has nothing else; and a few words are enough.
"""

import codecs
import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from itertools import pairwise

_SAMPLE = 4_000  # bytes of lines beyond ASCII that are compared
_LEAST = 0.3  # of a score, whose best is 1; a wrong charset has less
_LEAST_WIDE = 0.7  # of the score of UTF-16
_ASCII_POINTS = 2.0
_NON_ASCII = re.compile(r"[^\x00-\x7f]")
_ISO_2022_JP = re.compile(rb"\x1b\$[@B]")
_MARKS = frozenset("„“”‚‘’–—…«»€§°²³µ½¼¾©®™£¥·•¿¡ºª№†×±÷\xa0")  # of typography
_INNER_MARKS = frozenset("’–—…·")  # those that letters surround
_LONE_LETTERS = frozenset("àéèóòùöåæøí")  # words of Latin text; the others are only parts of words
_WIDE_MARKS = frozenset("，。、：；！？（）《》「」『』【】“”‘’—…·％－～　￥・ー〒№①②③④⑤⑥⑦⑧⑨０１２３４５６７８９")

# The most frequent characters, from news and business letters.
_SIMPLIFIED = (
    "的一是了我不人在他有这个上们来到时大地为子中你说生国年着就那和要出也得里后自以会家可下而过天去能对小多然于心学么"
    "之都好看起发当没成只如事把还用第样道想作种开美总从无情己面最女但现前些所同日手又行意动方期它头经长回位分爱老因很"
    "给名法间知世什两次使身者被高已其进此话常与活正感见明问力理点文几定本公特做外相西果走将月十实向声车全信重三机工物"
    "气每并别真打太新比才便再书部水像等体却加电主界门利海受听表少代员许先口由安写性马光白或住难望教命花结更东神记处让"
    "应直字场平报关放至认接告入内英军民往何度山路带万金快原变通师立数四满战远目条您请谢元百千亿价格合同编号总额项进"
    "报告状态完售客户订单产品量址司有限责任签甲乙付款发票税收支测试件容简包含标姓名财务资部门议须未按以及王李张刘陈杨"
)
_TRADITIONAL = (
    "的一是了我不人在他有這個上們來到時大地為子中你說生國年著就那和要出也得裡後自以會家可下而過天去能對小多然於心學麼"
    "之都好看起發當沒成只如事把還用第樣道想作種開美總從無情己面最女但現前些所同日手又行意動方期它頭經長回位分愛老因很"
    "給名法間知世什兩次使身者被高已其進此話常與活正感見明問力理點文幾定本公特做外相西果走將月十實向聲車全信重三機工物"
    "氣每並別真打太新比才便再書部水像等體卻加電主界門利海受聽表少代員許先口由安寫性馬光白或住難望教命花結更東神記處讓"
    "應直字場平報關放至認接告入內英軍民往何度山路帶萬金快原變通師立數四滿戰遠目條您請謝元價格合同編號額項目報告狀態完"
    "售客戶訂單產品量址司限責任簽甲乙付款發票稅收支測試檔案容簡繁包含議錄週午點準席臺灣香港"
)
_KANJI = (
    "日一大年人会国本中長出三時行見月分後前生五間上東四今金九入学高円子外八六下来気小七山話女北午百書先名川千水半男西"
    "電校語土木聞食車何南万毎白天母火右読友左休父雨社株式御様合計請求税込資料送付議曜週明世無私思新所理全員内業務作成"
    "定開始終了確認連絡願致申予約部場者田度手自方事言体用品京口目変更数価格見積契約商会決算報告表示注文番号住所電話氏"
)
_HANGUL = (
    "이다는에을의가하고은한로지를기사도서시어자리인정대수해아들있그나제과일전상부보것게주원동구면성장교회니라생안요연오문"
    "우조선국세여만년학공관치계물신요경비용등으로되었습까합업무소진행할당월화목금토님녕감작각청견약품목총액표제출번호주문"
)
_CYRILLIC = "оеаинтсрвлкмдпуяыьгзбчйхжшюцщэфёъ"
_UKRAINIAN = "оаниіветрсклудмпязьбгйчхжцюєшїфщґ"
_SCRIPTS: Mapping[str, tuple[str, ...]] = {  # a codec of one byte a character, and its letters, the most frequent first
    "cp1251": (_CYRILLIC, _UKRAINIAN),
    "koi8_r": (_CYRILLIC,),
    "koi8_u": (_UKRAINIAN,),
    "cp866": (_CYRILLIC,),
    "iso8859_5": (_CYRILLIC,),
    "cp1253": ("αοιετσνηυρπκμλςωάίόγέήδύώθχφβξζψϊϋ",),
    "iso8859_7": ("αοιετσνηυρπκμλςωάίόγέήδύώθχφβξζψϊϋ",),
    "cp1255": ("יוהלאתרשבמםנחעדקפכטצסןזגךףץ",),
    "cp1256": ("اليمنوترةبدعسقهحفكجشأصىطخضغذزءثئإظآؤ،؟",),
    "cp874": ("านรกเงทอมยลวดสต่ั้ิีปคบหพแชุจูขไื็ะใำโถผซธณ์",),
}
# Codecs of Latin letters, and the letters beyond ASCII of each of their languages.
_WESTERN = ("äöüß", "éèàêçâîôùûëïœ", "áéíóúñü", "áàâãçéêíóôõú", "àèéìòù", "åäöé", "æøåé", "áéíóúýþðæö", "éëïöü")
_CENTRAL = ("ąćęłńóśźż", "áčďéěíňóřšťúůýž", "áäčďéíĺľňóôŕšťúýž", "áéíóöőúüű", "čćđšž", "ăâîşţ")
_LATIN: Mapping[str, tuple[str, ...]] = {
    "cp1252": _WESTERN,
    "cp1250": _CENTRAL,
    "iso8859_2": _CENTRAL,
    "cp1254": ("çğıöşüâîû",),
    "cp1257": ("ąčęėįšųūž", "āčēģīķļņšūž", "äöüõšž"),
    "cp850": _WESTERN,
    "mac_roman": _WESTERN,
}
_MINOR = ("iso8859_5", "iso8859_7", "cp1257", "cp850", "mac_roman", "cp866")  # rare today: the others win a close case
_ZONES = {  # the lead bytes of frequent characters in codecs with two bytes a character
    "gb18030": (0xB0, 0xD7),
    "big5hkscs": (0xA4, 0xC6),
    "cp932": (0x88, 0x97),
    "euc_jp": (0xB0, 0xCF),
}
_WIDE = {"gb18030": _SIMPLIFIED, "big5hkscs": _TRADITIONAL, "cp932": _KANJI, "euc_jp": _KANJI, "cp949": _HANGUL}


def guess(sample: bytes) -> str:
    """Return the most likely codec of a text that is neither ASCII nor UTF-8, or "" if none is likely."""
    lines = b"".join(_lines(sample))
    best, best_score = "", _LEAST
    for codec, score in _SCORES.items():
        try:
            text = codecs.getincrementaldecoder(codec)().decode(lines)
        except UnicodeDecodeError:
            continue
        if (value := score(codec, text) - 0.05 * (codec in _MINOR)) > best_score:
            best, best_score = codec, value
    return best


def is_iso_2022_jp(sample: bytes) -> bool:
    """Return whether a text of seven bits has the shifts of ISO-2022-JP, and is valid with them."""
    if not _ISO_2022_JP.search(sample):
        return False
    try:
        codecs.getincrementaldecoder("iso2022_jp")().decode(sample)
    except UnicodeDecodeError:
        return False
    return True


def guess_utf_16(head: bytes) -> str:
    """Return the codec if this is UTF-16 without a byte order mark, otherwise ""."""
    scores = {}
    for codec in ("utf-16-le", "utf-16-be"):
        try:
            text = codecs.getincrementaldecoder(codec)().decode(head, final=len(head) % 2 == 1)
        except UnicodeDecodeError:
            continue
        points = list(map(_utf_16_score, text))
        if _ASCII_POINTS in points:  # a space or a line end: the reason of a NUL
            scores[codec] = sum(points) / len(points)
    best = max(scores, key=lambda codec: scores[codec], default="")
    return best if best and scores[best] >= _LEAST_WIDE else ""


def _utf_16_score(character: str) -> float:
    if " " <= character <= "~" or character in "\t\r\n":
        return _ASCII_POINTS
    code = ord(character)
    if 0x4E00 <= code < 0xA000 or 0xAC00 <= code < 0xD7A4:
        low = code & 0xFF  # zero in letters of ASCII with their bytes exchanged; often a letter in other data
        return -1 if not low else 0.4 if " " <= chr(low) <= "~" else 1
    is_usual = 0xA0 <= code < 0x700 or 0xE00 <= code < 0xE80 or 0x1E00 <= code < 0x20D0 or 0x3000 <= code < 0x3100
    is_usual = is_usual or 0xFF00 <= code < 0xFFF0 or 0xD800 <= code < 0xE000 or code > 0xFFFF
    return 1 if is_usual and unicodedata.category(character) != "Cn" else -4


def _lines(sample: bytes) -> Iterator[bytes]:
    """Yield the lines with bytes beyond ASCII, cut after `_SAMPLE` bytes."""
    room = _SAMPLE
    for line in sample.split(b"\n"):
        if not line.isascii() and room > 0:
            yield line[:room] + b"\n"
            room -= len(line) + 1


def _wide_score(codec: str, text: str) -> float:
    """Return the mean score of ideographs, kana and syllables."""
    characters = [character for character in text if character > "\x7f"]
    return sum(_wide_scores(codec, character) for character in characters) / max(len(characters), 2)


@cache
def _usual(codec: str) -> frozenset[str]:
    return frozenset(_WIDE[codec])


def _wide_scores(codec: str, character: str) -> float:
    if character in _usual(codec):
        return 1
    if character in _WIDE_MARKS:
        return 0.7
    if "぀" <= character <= "ヿ":
        return 1 if codec in ("cp932", "euc_jp") else -0.2
    if "가" <= character <= "힣":
        return 0.35 if codec == "cp949" else -0.2
    if "｡" <= character <= "ﾟ":
        return 0.3
    if codec not in _ZONES or not "一" <= character <= "鿿":
        return -0.4
    first, last = _ZONES[codec]
    return 0.4 if first <= character.encode(codec)[0] <= last else -0.1


def _script_score(codec: str, text: str) -> float:
    """Return the mean score of the letters of a script: by frequency, with capitals only where words begin."""
    return max(_mean(text, _ranks(letters), is_latin=False) for letters in _SCRIPTS[codec])


def _latin_score(codec: str, text: str) -> float:
    """Return the mean score of the letters of that Latin language which they suit best."""
    if codec == "cp1252" and not any(map(str.isalpha, _NON_ASCII.findall(text))):
        return 0.5  # marks alone
    return max(_mean(text, _equal(letters), is_latin=True) for letters in _LATIN[codec])


@cache
def _ranks(letters: str) -> Mapping[str, float]:
    return {letter: 1 - 0.8 * rank / len(letters) for rank, letter in enumerate(letters)}


@cache
def _equal(letters: str) -> Mapping[str, float]:
    return dict.fromkeys(letters, 1.0)


def _mean(text: str, scores: Mapping[str, float], *, is_latin: bool) -> float:
    total, count = 0.0, 0
    text = f" {text} "
    for (before, character), after in zip(pairwise(text), text[2:], strict=False):
        if character <= "\x7f":
            continue
        count += 1
        total += _narrow_score(before, character, after, scores, is_latin=is_latin)
    return total / max(count, 1 if is_latin else 2)


def _narrow_score(before: str, character: str, after: str, scores: Mapping[str, float], *, is_latin: bool) -> float:
    if character.lower() not in scores:
        if character in _INNER_MARKS and before.isalpha() and after.isalpha():
            return 1
        return 0.5 if character in _MARKS and not (before.isalpha() and after.isalpha()) else -1
    if character != character.lower() and before.islower():
        return -1
    score = scores[character.lower()]
    neighbours = [neighbour for neighbour in (before, after) if neighbour.isalpha()]
    if not neighbours and (is_latin or character != character.lower()):
        return score if character in _LONE_LETTERS else 0.4
    if is_latin:
        return score if any(map(str.isascii, neighbours)) else score - 0.5
    return -0.7 if any(map(str.isascii, neighbours)) else score


_SCORES: Mapping[str, Callable[[str, str], float]] = {  # the first of equals wins
    **dict.fromkeys(_LATIN, _latin_score),
    **dict.fromkeys(_WIDE, _wide_score),
    **dict.fromkeys(_SCRIPTS, _script_score),
}
