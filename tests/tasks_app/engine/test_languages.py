"""Recognition of a text's language: reliable if it is obvious, and no answer otherwise."""

import pytest

from tasks_app.text.languages import language_of


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("English", "Summarise the file and list what is unclear in it, please."),
        ("German", "Fasse die Datei zusammen und nenne mir bitte die offenen Fragen."),
        ("French", "Résume le fichier et dis-moi ce que vous pensez de cette idée pour les clients."),
        ("Spanish", "Resume el archivo y dime qué hay que hacer para que los clientes no se quejen más."),
        ("Italian", "Riassumi il file e dimmi che cosa non è chiaro per i clienti della società."),
        ("Portuguese", "Resuma o arquivo e diga o que não está claro para os clientes, com mais detalhes."),
        ("Dutch", "Vat het bestand samen en zeg wat er niet duidelijk is voor de klanten."),
        ("Chinese", "请总结这个文件并列出不清楚的地方，谢谢你的帮助。"),
        ("Japanese", "このファイルを要約して、不明な点を挙げてください。"),
        ("Korean", "파일을 요약하고 불분명한 점을 나열해 주세요"),
        ("a language in Cyrillic script", "Пожалуйста, кратко изложи файл и скажи, что непонятно."),  # noqa: RUF001
    ],
)
def test_a_plain_sentence_is_recognised(language, text):
    assert language_of(text) == language


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Done.",
        "Fix the bug",
        "```\nthe and of to is are was\n```",
        "`the and of to is are was`",
        "/the/and/of to_is this_that/with",
        "日本語要約",
        "wir deployen das mit the new release and is this",
        "Привет, дорогой, and the rest of it",
        "\ud800 \x00 🎉🎉🎉",
    ],
    ids=range(10),
)
def test_short_mixed_and_code_texts_are_left_alone(text):
    assert language_of(text) == ""


def test_a_long_text_is_judged_quickly_by_its_beginning():
    assert language_of("The file is for you and it was not there. " + "x" * 1_000_000) == "English"
