"""Skills: folders with a SKILL.md that tells an agent how to do a kind of work, and the files for it."""
