"""Keys that are put in version after version."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from inspector.facts.ages import Rewrites
from inspector.state.replay import StateMap
from tests.cases import Step, blocks

KEYS = [b"a" * 8, b"b" * 8, b"c" * 8]


def runs(steps: list[Step]) -> dict[int, int]:
    """Return the number of live keys by their number of consecutive puts in the newest versions."""
    state, rewrites = StateMap(), Rewrites()
    for version, step in enumerate(steps, 1):
        state.begin(version, rebase=step.rebase)
        for block in blocks(step.records):
            state.apply(block)
        rewrites.update(state.end(), state)
    return dict(rewrites.observe(state).lengths.counts)


def test_version_without_a_put_ends_the_run() -> None:
    a, b, c = dict.fromkeys(KEYS, b"v" * 8).items()
    assert runs([Step([a, b]), Step([a]), Step([a, b, c])]) == {3: 1, 1: 2}
    assert runs([Step([a, b]), Step([])]) == {}
    assert runs([Step([a, a]), Step([a])]) == {2: 1}


def test_removed_key_has_no_run() -> None:
    a = (KEYS[0], b"v" * 8)
    assert runs([Step([a]), Step([a, (KEYS[0], None)])]) == {}
    assert runs([Step([a]), Step([(KEYS[0], None), a])]) == {2: 1}


def test_snapshot_is_not_counted_as_a_put() -> None:
    a = (KEYS[0], b"v" * 8)
    assert runs([Step([a]), Step([a], rebase=True)]) == {}
    assert runs([Step([a]), Step([a], rebase=True), Step([a])]) == {1: 1}


@given(st.lists(st.dictionaries(st.sampled_from(KEYS), st.just(b"v" * 8)), min_size=1, max_size=6))
def test_rewrites_count_the_last_run_of_puts(puts: list[dict[bytes, bytes]]) -> None:
    lengths: Counter[bytes] = Counter()
    for put in puts:
        lengths = Counter({key: lengths[key] + 1 for key in put})
    assert runs([Step(list(put.items())) for put in puts]) == Counter(lengths.values())
