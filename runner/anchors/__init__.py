"""The gate: anchors are unchanged, and today's rubrics and judge still rank them as the hand grades do (DESIGN.md, The gate).

An anchor is a frozen transcript of a held-out scenario with a grade, by hand, for each step and criterion. Each way to move the goal
posts ends here:

    frozen.py      every file under scenarios/ by digest; what is changed, missing, added, or a link
    chain.py       locks/anchors.lock and the generations before it
    material.py    transcripts and grades -> answers with gold
    verdicts.py    what the judge says of them: judged now, or stored and proven to be what was accepted
    agreement.py   Spearman's rho, its interval, and who disagrees most
    gate.py        the verbs: verify, propose, accept, regrade
"""
