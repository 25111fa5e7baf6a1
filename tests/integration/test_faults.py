"""Whatever goes wrong: no crash, no deadlock, no leak, order kept, recovery within a second."""

from __future__ import annotations

import os

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engine.config import GuardPolicy
from tests.drama import FAULTS, POLICIES, Drama, Fault, random_faults

SEQUENCES = 20_000 if os.environ.get("KAWARI_NIGHTLY") else 2_000
CHUNK = 100


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("kind", sorted(FAULTS))
def test_each_fault_alone(kind, policy):
    lasts = 0.25 if kind == "blind" else 0.4
    assert Drama(1, [Fault(kind, 0.3, lasts)], policy).play() == []


@pytest.mark.parametrize("kind", sorted(FAULTS))
def test_each_fault_at_the_start(kind):
    assert Drama(2, [Fault(kind, 0.0, 0.25)], GuardPolicy.HOLD).play() == []


@pytest.mark.parametrize("chunk", range(SEQUENCES // CHUNK))
def test_random_mixes(chunk):
    found = {}
    for seed in range(chunk * CHUNK, (chunk + 1) * CHUNK):
        problems = Drama(seed, random_faults(seed), POLICIES[seed % len(POLICIES)]).play()
        if problems:
            found[seed] = problems[:3]
    assert found == {}


faults = st.builds(
    Fault,
    st.sampled_from(sorted(FAULTS)),
    st.floats(0.0, 1.2, allow_nan=False),
    st.floats(0.02, 0.5, allow_nan=False),
)


@settings(max_examples=80, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
@given(st.integers(0, 10_000), st.lists(faults, max_size=8), st.sampled_from(POLICIES))
def test_no_sequence_of_faults_shows_the_face(seed, sequence, policy):
    assert Drama(seed, sequence, policy).play() == []


@pytest.mark.parametrize("kind", ["swap-none", "swap-raises", "blind"])
def test_the_checks_can_fail(kind):
    """Pass-through shows the face, and the witnesses say so."""
    problems = Drama(1, [Fault(kind, 0.3, 0.2)], GuardPolicy.PASS).play()
    assert any(problem.startswith("LEAK") for problem in problems)
