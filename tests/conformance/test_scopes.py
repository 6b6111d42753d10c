"""Named scopes are worlds that can be made, and claim behaviours that there are."""

import pytest

from pagedkv.conformance import coverage
from pagedkv.conformance.scopes import SCOPES, Scope
from pagedkv.conformance.subjects import reference
from pagedkv.spec.trace.worlds import reason_against


def test_scopes_are_listed_by_their_names() -> None:
    assert all(name == scope.name for name, scope in SCOPES.items())
    assert {"full", "hybrid", "small-full", "small-hybrid"} <= set(SCOPES)


@pytest.mark.parametrize("scope", SCOPES.values(), ids=lambda scope: scope.name)
def test_a_scope_can_be_made_and_claims_what_can_be_seen(scope: Scope) -> None:
    assert reason_against(scope.world) == ""
    assert reference().make(scope.world).snapshot() is not None
    assert scope.shows
    assert set(scope.shows) <= set(coverage.ALL)
    assert len(set(scope.shows)) == len(scope.shows)
