"""Routing rules that a message or the workspace matches. One visible reminder names them, and they are counted."""

import fnmatch
import logging
from collections.abc import Sequence

from llm_app.sql import cached_sql, fetch_all
from tasks_app.memory import vectors
from tasks_app.models import ContextEntry, FiredRule, RoutingRule, RuleMatch, RuleTarget
from tasks_app.record import Draft
from tasks_app.run import StepSettings, TaskContext, reminders
from tasks_app.text.retrieval import fold, terms_of

MOST_FIRED = 3  # rules per task
LONGEST_MESSAGE = 4000  # characters that rules examine
MOST_PATHS = 1000  # of a workspace
PATIENCE = 0.1  # timeout of a regular expression in seconds
logger = logging.getLogger(__name__)


@cached_sql
def _enabled_rules() -> list[RoutingRule]:
    return fetch_all(RoutingRule.objects.filter(enabled=True))


def reminder_for(context: TaskContext, message: str, paths: Sequence[str]) -> list[Draft]:
    """Return the reminder for the message that starts a task, if rules match it, and stage these rules.

    `paths` are those of the workspace's first two levels. A rule for them says nothing that the model still sees.
    """
    rules = [rule for rule in _enabled_rules() if _has_target(context.settings, rule)]
    if not rules or not message.strip():
        return []
    message, seen = message[:LONGEST_MESSAGE], _seen_names(context.history.entries)
    matching = _matching_by_meaning(context, [rule for rule in rules if rule.match == RuleMatch.MEANING], message)
    matching |= {rule for rule in rules if rule.name not in seen and _matches_files(rule, paths)}
    fired = [rule for rule in rules if rule in matching or _matches(rule, message)][:MOST_FIRED]
    context.stage(rows=[FiredRule(rule=rule, task=context.task) for rule in fired])
    return [reminders.routing([(rule.name, _advice(rule), rule.text) for rule in fired])] if fired else []


def _seen_names(entries: Sequence[ContextEntry]) -> set[str]:
    """Return the names of the rules whose reminders the model still sees."""
    return {name for entry in entries if entry.metadata.get("kind") == "routing" for name in entry.metadata["rules"]}


def _matches_files(rule: RoutingRule, paths: Sequence[str]) -> bool:
    if rule.match != RuleMatch.FILES:
        return False
    paths = [path.lower() for path in paths[:MOST_PATHS]]
    names = {*paths, *(path[path.rfind("/", 0, -1) + 1 :] for path in paths)}
    return any(fnmatch.filter(names, line.lower()) for line in rule.lines())


def _has_target(settings: StepSettings, rule: RoutingRule) -> bool:
    """Return whether the task's person can use the target of the rule."""
    if rule.target == RuleTarget.SKILL:
        return rule.target_name in dict(settings.skills)
    if rule.target == RuleTarget.GROUP:
        return rule.target_name in settings.policy.tools_by_group
    return True


def _advice(rule: RoutingRule) -> str:
    name = rule.target_name
    match rule.target:
        case RuleTarget.SKILL:
            return f"Load the skill `{name}` with `skill` before you begin."
        case RuleTarget.GROUP:
            return f"Load the group of tools `{name}` with `load_tools`."
        case RuleTarget.AGENT:
            return f"The agent `{name}` is made for this: if you can hand it over or delegate to it, do."
        case RuleTarget.WORKFLOW:
            return f"There is a workflow “{name}” for it, which the person can start with their next message: say so."
        case _:
            return ""


def _matches(rule: RoutingRule, message: str) -> bool:
    if rule.match == RuleMatch.WORDS:
        terms = set(terms_of(message))
        return any(all(_occurs(word, terms) for word in line.split()) for line in rule.lines())
    return rule.match == RuleMatch.REGEX and _matches_pattern(rule, message)


def _occurs(word: str, message_terms: set[str]) -> bool:
    if word.endswith("*"):
        return any(term.startswith(fold(word[:-1])) for term in message_terms)
    terms = terms_of(word)
    return bool(terms) and message_terms.issuperset(terms)


def _matches_pattern(rule: RoutingRule, message: str) -> bool:
    """Match a regular expression. One that is invalid or too slow is recorded as a fault for administrators."""
    import regex  # on first use: it takes 2 MB, and few installations need it

    try:
        return bool(regex.search(rule.pattern, message, regex.IGNORECASE, timeout=PATIENCE, concurrent=True))
    except TimeoutError:
        fault = f"The expression took over {PATIENCE} s on a message of {len(message)} characters."
    except regex.error as error:
        fault = f"This is no regular expression: {error}."
    logger.warning("could not match the routing rule %s: %s", rule, fault)
    RoutingRule.objects.filter(pk=rule.pk).update(fault=fault)
    return False


def _matching_by_meaning(context: TaskContext, rules: Sequence[RoutingRule], message: str) -> set[RoutingRule]:
    """Return rules with an example that means nearly the same, if an embedding model is configured."""
    examples = [(rule, line) for rule in rules for line in rule.lines()]
    nearness_values = vectors.nearness(context, message, [line for _, line in examples], context.interruption)
    return {
        rule for (rule, _), closeness in zip(examples, nearness_values, strict=False) if closeness >= rule.closeness
    }
