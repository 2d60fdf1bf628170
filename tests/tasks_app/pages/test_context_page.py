"""The model's view of a session: the gauge, the cut, and links to every dropped turn."""

import pytest

from llm_app.models import Blob, LogicalModel, Secret
from tasks_app.engine.compaction.plan import ABOUT
from tasks_app.models import ContextCut
from tasks_app.record import Cut, notice
from tasks_app.replay.readable import outline_lines
from tests import factories

BLOCK = f"""<compacted_history>
{ABOUT}
<user n="1" date="2026-11-22">Read it,
<step n="9">not a step</note>
please <b>now</b></user>
<asked>Which one?</asked><user n="3">The red one.</user>
<step n="5" status="failed">file read a.py → not there</step>
<turns from="6" to="9">2 steps (file ×2); recall by number</turns>
</compacted_history>"""


@pytest.fixture
def address(session):
    return f"/s/{session.pk}/context/"


@pytest.fixture
def cut(task):
    cut = Cut(seq=9, block=BLOCK.replace("</note>", "<\\/note>"), views={11: "[succeeded: returned 9 bytes]"})
    return ContextCut.objects.create(
        session=task.session,
        task=task,
        window=128_000,
        seq=9,
        blob=Blob.store(cut.text),
        cause="filled",
        tokens_before=90_000,
        tokens_after=20_000,
    )


@pytest.fixture
def entries(task, called):
    """Append entries up to 13: calls at even numbers, each followed by its result."""
    for number in range(6):
        called("file", f'{{"action": "read", "path": "{number}.py"}}', f"text {number}")


def test_page_without_cuts_and_calls(alices, address):
    page = alices.page(address)
    assert "Nothing has been cut" in page
    assert "The model has not answered in this session yet." in page


def test_page_shows_the_compacted_block_with_links_to_its_turns(alices, address, entries, cut):
    page = alices.page(address)
    assert "The person 1</a>" in page
    assert "please &lt;b&gt;now&lt;/b&gt;" in page
    assert "Steps 6 to 9</a>" in page
    assert '<span class="seen">failed</span>' in page
    assert "90.0k" in page
    assert "[succeeded: returned 9 bytes]" in page
    assert f'href="/s/{cut.session.pk}/context/5/"' in page


def test_dropped_turn_is_linked(alices, address, entries, cut):
    answer = alices.get(f"{address}5/")
    assert answer.url.endswith("#e4")  # the result is on the card of its call
    assert 'id="e4"' in alices.page(answer.url.partition("#")[0])
    assert alices.get(f"{address}999/").status_code == 404


def test_link_to_an_old_entry_opens_the_page_that_has_it(alices, address, task):

    factories.append(task, *[notice(f"note {number}") for number in range(500)])
    answer = alices.get(f"{address}7/")
    assert 'id="e7"' in alices.page(answer.url.partition("#")[0])


def test_conversation_shows_the_cut(alices, session, entries, cut):
    page = alices.page(session.get_absolute_url())
    marker = page.index('id="cut"')
    assert page.index('id="e8"') < marker < page.index('id="e10"')
    assert page.count('id="cut"') == 1


def test_earlier_cut_can_be_shown(alices, address, entries, cut, task):
    ContextCut.objects.create(
        session=task.session, task=task, window=1, seq=3, blob=Blob.store(Cut(seq=3, block="x").text), cause="refused",
        tokens_before=5, tokens_after=4,
    )  # fmt: skip
    assert "Steps 6 to 9" not in alices.page(address)
    assert "The provider refused the request as too long" in alices.page(address)
    assert "Steps 6 to 9" in alices.page(f"{address}?cut={cut.pk}")
    assert alices.get(f"{address}?cut=nonsense").status_code == 200


def test_gauge_shows_window_cache_and_cost(alices, address, session, task):
    model = LogicalModel.objects.get(pk=session.model_id)
    factories.log(
        session_id=session.pk, task_id=task.pk, model=model.name, input_tokens=31_000, output_tokens=1_000,
        cached_tokens=24_000, cost_usd="0.25",
    )  # fmt: skip
    for page in (alices.page(address), alices.page(session.get_absolute_url())):
        assert '<progress max="100" value="25"' in page
        assert "32.0k of 128.0k tokens <small>(25 %, 75 % of it cached)</small>" in page
    assert "for $0.2500" in alices.page(address)
    assert address in alices.page(session.get_absolute_url())


def test_new_secret_is_redacted(alices, alice, address, entries, cut):
    Secret.objects.create(owner=alice, name="RED", value="The red one.")
    page = alices.page(address)
    assert "The red one." not in page
    assert "RED" in page


def test_other_users_get_404(browser, charlie, bob, address, entries, cut):
    assert browser(charlie).get(address).status_code == 404
    assert browser(charlie).get(f"{address}4/").status_code == 404
    assert browser(bob).get(address).status_code == 200


def test_lines_are_parsed_despite_markup_in_messages():
    lines = list(outline_lines(BLOCK.replace("</note>", "<\\/note>")))
    assert [(line.label, line.seq, line.last) for line in lines] == [
        ("The person", 1, 0),
        ("The agent asked", 0, 0),
        ("The person", 3, 0),
        ("Step", 5, 0),
        ("Steps", 6, 9),
    ]
    assert lines[0].text.startswith('Read it,\n<step n="9">not a step')


def test_text_of_a_skill_is_kept_between_the_lines():
    block = BLOCK.replace("</note>", "<\\/note>").replace("</compacted", "How to read.\nSlowly.\n</compacted")
    assert [(line.label, line.text) for line in outline_lines(block)][-1] == ("Kept whole", "How to read.\nSlowly.")
