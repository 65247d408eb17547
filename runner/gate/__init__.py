"""The gate: anchors are unchanged, and the judge still ranks them as the hand grades do.

An anchor is a frozen transcript of a held-out scenario with a grade, by hand, for each step and
criterion (docs/gate.md). Each way to move the goal posts ends here:

    frozen.py       every file under scenarios/ by digest; what is changed, missing or added
    chain.py        locks/anchors.lock and the generations before it
    history.py      what git knows of their past
    figures.py      which of our code makes a figure
    rescoring.py    what was accepted since a run was planned
    fact_wording.py can each fact of a rubric be read on its own?
    own_pairs.py    does a changed rubric keep the order of its scenario's own pairs?
    changes.py      what differs from the lock in force, and which verb may take it
    material.py     transcripts and grades -> answers with gold
    verdicts.py     what the judge says of them: judged now, or stored as accepted
    agreement.py    Spearman's rho, its interval, and who disagrees most
    examination.py  all of these together: the gate's verdict
    gate.py         the verbs: verify, propose, accept, regrade
"""
