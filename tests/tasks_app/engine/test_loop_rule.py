"""The loop rule compared with its definition: random calls, results, file changes, messages and restarts."""

from dataclasses import dataclass, field

from hypothesis import given, settings
from hypothesis import strategies as st

from tasks_app.run.loop_detector import CountedCall, EarlierRun, LoopDetector, uncounted

WINDOW, THRESHOLD, REFUSALS = 20, 5, 3


@dataclass(frozen=True)
class Step:
    """A call with its would-be result. `before` is the event that precedes it."""

    name: str
    result: str = "same"
    succeeds: bool = True
    changes_files: bool = False
    before: str = ""  # "", "change", "message" or "restart"


@dataclass
class Rule:
    """The rule by its definition, over all calls from the beginning."""

    calls: list[tuple[Step, bool, int]] = field(
        default_factory=list
    )  # each with refused, and the changes before it began
    changes: int = 0

    def decide(self, step: Step) -> str:
        if step.before == "message":
            self.calls = []
        self.changes += step.before == "change"
        same = [
            (one, changes) for one, refused, changes in self.calls[-WINDOW:] if one.name == step.name and not refused
        ]
        newest = same[-THRESHOLD:]
        repeats = (
            len(newest) == THRESHOLD
            and all(one.result == newest[0][0].result for one, _ in newest)
            and all(changes == self.changes for _, changes in newest)
        )
        self.calls.append((step, repeats, self.changes))
        if not repeats:
            self.changes += step.changes_files
            return "runs"
        in_a_row = 0
        for one, refused, _ in reversed(self.calls):
            if not refused and one.succeeds:
                break
            in_a_row += refused
        return "ends" if in_a_row >= REFUSALS else "refused"


class Engine:
    """The engine's use of its detector, with a list as the record."""

    def __init__(self) -> None:
        self.record: list[tuple[CountedCall, bool]] = []  # since the newest message, each with its success
        self.runs: dict[str, EarlierRun] = {}
        self.changed = self.seq = 0
        self.detector = self.loaded()

    def loaded(self) -> LoopDetector:
        detector = LoopDetector(window=WINDOW, threshold=THRESHOLD, refusals=REFUSALS)
        detector.load(self.record)
        return detector

    def decide(self, step: Step) -> str:
        if step.before == "message":
            self.record = []
            self.detector.forget()
        if step.before == "restart":
            self.detector = self.loaded()
        if step.before == "change":
            self.changed = self.seq
        self.seq += 2
        call_id = str(self.seq)
        earlier = [self.runs[one] for one in self.detector.earlier(step.name)]
        refused = bool(earlier) and self.detector.is_repetition(earlier, self.changed)
        counted = CountedCall(step.name, call_id, refused)
        self.detector.note(counted)
        self.record.append((counted, not refused and step.succeeds))
        if refused:
            return "ends" if self.detector.is_hopeless() else "refused"
        self.runs[call_id] = EarlierRun(seq=self.seq, call_id=call_id, result=step.result, comparable=step.result)
        if step.changes_files:
            self.changed = self.seq
        if step.succeeds:
            self.detector.note_success()
        return "runs"


often = st.sampled_from
steps = st.builds(
    Step,
    name=often(["test", "test", "test", "look", "edit"]),
    result=often(["same"] * 12 + ["other"]),
    succeeds=often([True, False, False]),
    changes_files=often([False] * 12 + [True]),
    before=often([""] * 20 + ["restart"] * 3 + ["change", "message"]),
)


@settings(max_examples=400, deadline=None)
@given(st.lists(steps, min_size=8, max_size=60))
def test_each_decision_is_that_of_the_rule(steps: list[Step]) -> None:
    rule, engine = Rule(), Engine()
    for step in steps:
        decision = rule.decide(step)
        assert engine.decide(step) == decision
        if decision == "ends":
            break


def decisions(*steps: Step) -> list[str]:
    engine = Engine()
    return [engine.decide(step) for step in steps]


def test_a_task_never_ends_while_other_calls_succeed() -> None:
    again, other = Step("test"), Step("look")
    found = decisions(*[again] * 5, *[again, other] * 4)
    assert "refused" in found
    assert "ends" not in found


def test_other_calls_that_fail_do_not_save_it() -> None:
    again, others = Step("test"), [Step(f"try {n}", succeeds=False) for n in range(3)]
    assert decisions(*[again] * 6, others[0], again, others[1], again)[-1] == "ends"


def test_success_of_a_repeatable_call_counts_after_a_restart() -> None:
    engine, again = Engine(), Step("test")
    assert [engine.decide(again) for _ in range(7)][-2:] == ["refused", "refused"]
    engine.record.append((CountedCall(uncounted("f" * 64), "x"), True))
    assert engine.decide(Step("test", before="restart")) == "refused"
