"""Every finding says how it is proven."""

from inspector import docs
from inspector.findings.catalogue import CATALOGUE
from inspector.findings.proofs import PROOFS


def test_every_finding_has_a_proof_and_no_other_has() -> None:
    assert set(PROOFS) == {kind.id for kind in CATALOGUE}


def test_they_are_sentences_that_the_page_shows() -> None:
    for kind in CATALOGUE:
        proof = PROOFS[kind.id]
        assert proof[0].isupper()
        assert proof.endswith(".")
        page = docs.lookup(kind.id) or ""
        for part in ("What it means", "How it is proven", "From when on", "What to do", "Source"):
            assert f"**{part}.** " in page, (kind.id, part)
        assert proof in page
