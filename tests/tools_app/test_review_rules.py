"""Tests of the rules that review the end of a task: the results that they send back, and those that they pass."""

import pytest

from tools_app.hooks.base import PastCall
from tools_app.hooks.termination_review import ADVICE, fault_code


def made(tool="file", status="succeeded", content="…", **arguments):
    return PastCall(tool=tool, arguments=arguments, status=status, content=content)


WROTE = made(action="write", path="out/report.md")
READ = made(action="read", path="a.txt")
FAILED = made("shell", "failed", command="make")
SPOKE = made("message", type="info", text="…")
TESTED = made("shell", content="12 passed, 1 failed: test_clock\n[exit code 1, 0.4 s]", command="make test")
SEARCHED = made("search", content="<search_results>\n1. Bees of Ticino\n</search_results>", type="info", query="bees")
READ_PAGE = made("fetch_url", content="<web_page>\nThe lease ends in March.\n</web_page>", url="https://a.org")


@pytest.mark.parametrize(
    ("code", "text", "attachments", "past"),
    [
        ("NO_SEND", "I have attached the report.", [], []),
        ("NO_SEND", "Der Bericht ist im Anhang.", [], [READ]),
        ("UNSENT_RESULTS", "The analysis shows three findings.", [], [WROTE]),
        ("UNSENT_RESULTS", "Here are your slides!", [], [made("slides", title="T", path="deck.pptx"), SPOKE]),
        ("UNSENT_RESULTS", "I ran the command successfully.", [], [TESTED]),
        ("UNSENT_RESULTS", "I searched the web and found what you asked for.", [], [SPOKE, SEARCHED]),
        ("UNSENT_RESULTS", "Here are the results.", [], [READ_PAGE]),
        ("ERROR_UNRESOLVED", "The project builds with make.", [], [READ, FAILED]),
        ("ERROR_UNRESOLVED", "The project builds with make.", [], [FAILED, SPOKE]),
        ("GENERIC", "Hello! How can I help you today?", [], []),
        ("GENERIC", "Let me know if you need anything else.", [], [READ]),
        ("ACK_ONLY", "Sure, on it!", [], []),
        ("ACK_ONLY", "I will look into the logs and tell you what I find.", [], []),
        ("NO_SUBSTANTIVE", "Done.", [], [READ]),
        ("NO_SUBSTANTIVE", "The task is complete!", [], []),
        ("NO_SUBSTANTIVE", "…", [], []),
        ("ACK_ONLY", "No problem, I will do that right away.", [], []),
        ("NO_SEND", "You asked for a report: it is attached, not as text.", [], []),
    ],
)
def test_useless_results_are_refused(code, text, attachments, past):
    assert fault_code(text, attachments, past) == code
    assert code in ADVICE


@pytest.mark.parametrize(
    ("text", "attachments", "past"),
    [
        ("The capital of France is Paris.", [], []),
        ("42", [], []),
        ("I have attached the report.", ["out/report.md"], [WROTE]),
        ("You find it in report.md.", [], [WROTE]),
        ("The build failed: a header is missing.", [], [FAILED]),
        ("The project builds now.", [], [FAILED, made("shell", command="make")]),
        ("OK, the three tests pass now and the server answers.", [], [READ]),
        ("Here it is.", ["out/report.md"], [WROTE]),
        ("The lease ends in March. Let me know if you need the contract itself.", [], [READ]),
        ("I deleted the draft.", [], [made(action="delete", path="draft.md")]),
        ("It holds two lines.", [], [made(status="failed", action="write", path="x.md"), READ]),
        ("I ran the tests: one failed.", [], [TESTED]),
        ("I ran it: 12.", [], [TESTED]),
        ("I renamed the module everywhere.", [], [TESTED]),
        ("I found nothing about wasps.", [], [made("search", content="Nothing was found. Try other words.")]),
        ("Here are the results: it runs until March.", [], [READ_PAGE]),
        ("I ran it.", [], [made("shell", content="[exit code 0, 0.1 s]", command="touch a")]),
        ("Here is what I found.", [], [READ_PAGE, SPOKE]),
    ],
)
def test_useful_results_pass(text, attachments, past):
    assert fault_code(text, attachments, past) == ""


NO_RESULTS = made("search", content="Nothing was found. Try other words, or drop site and since.", query="wasps")
NO_MATCH = made("match", content="No match.", action="grep", pattern="TODO")
NO_LINES = made("shell", content="[exit code 1, 0.0 s]", command="grep -r TODO .")
NO_COUNT = made("shell", content="0\n[exit code 1, 0.0 s]", command="grep -c TODO a.py")
SAYS_SO = made("shell", content="grep: no match\n[exit code 1, 0.0 s]", command="grep TODO a.py || echo no match")
NO_FILE = made(status="failed", content="There is no file config.yml.", action="read", path="config.yml")
NO_PAGE = made("fetch_url", "failed", content="The server answered 404.", url="https://a.org/x")
TOO_LONG = made("shell", "failed", content="[killed after 120 s]", command="make")


@pytest.mark.parametrize(
    "past", [NO_RESULTS, NO_MATCH, NO_LINES, NO_COUNT, SAYS_SO, NO_FILE, NO_PAGE], ids=lambda c: c.tool
)
@pytest.mark.parametrize(
    "text",
    [
        "No results found.",
        "I searched and found nothing.",
        "I searched, and there are none.",
        "I ran the search: no matches.",
        "I looked everywhere and did not find any.",
        "The output is empty.",
        "There aren't any.",
        "None.",
        "Nothing found. Let me know if you need anything else.",
        "No match. Is there anything else?",
        "There is nothing to fix, so I will leave it as it is.",
        "I checked: 0 results.",
        "Ich habe gesucht und nichts gefunden.",
        "Die Suche ergab keine Ergebnisse.",
        "Das Ergebnis ist leer.",
        "Es gibt keine.",
        "Ich habe alles durchsucht: Fehlanzeige.",
        "I ran the linter and it is clean.",
        "n/a",
        "J'ai cherché partout et je n'ai rien trouvé.",
        "No se encontró nada.",
        "La búsqueda no dio ningún resultado.",
        "Ho cercato e non ho trovato niente.",
        "Nessun risultato.",
        "Nenhum resultado.",
        "Ik heb gezocht en niets gevonden.",
        "Brak wyników.",
        "Nie znaleziono.",
        "Žádné výsledky.",
        "Nincs találat.",
        "Jag sökte och hittade inget.",
        "Jeg fant ingenting.",
        "Ei tuloksia.",
        "Sonuç bulunamadı.",
        "Không tìm thấy kết quả nào.",
        "Tidak ada hasil.",
        "Ничего не найдено.",
        "没有找到。",
        "無結果。",
        "該当なし。",
        "검색 결과가 없습니다.",
        "لا توجد نتائج.",
        "לא נמצא דבר.",
        "Δεν βρέθηκε τίποτα.",
        "कुछ नहीं मिला।",
        "ไม่พบผลลัพธ์",
    ],
)
def test_an_empty_finding_is_a_valid_result(text, past):
    assert fault_code(text, [], [past]) == ""


@pytest.mark.parametrize(
    "text",
    [
        "The command timed out.",
        "It took too long.",
        "make was killed after two minutes.",
        "There is a problem with make.",
        "La compilation a échoué.",
        "Das Kommando wurde abgebrochen.",
    ],
)
def test_failures_are_recognized_in_many_wordings(text):
    assert fault_code(text, [], [TOO_LONG]) == ""


@pytest.mark.parametrize(
    "text",
    [
        "The mail has no attachments.",
        "The file you attached is empty.",
        "Your attachment holds three tables: sales, costs and staff.",
        "I did not get any attachment with this message.",
        "Die Mail hat keinen Anhang.",
        "In deinem Anhang stehen drei Tabellen.",
    ],
)
def test_mentions_of_other_attachments_pass(text):
    assert fault_code(text, [], [READ]) == ""
