"""The checks that turn a claim into a fact: what was recorded, what was measured, and what that says about a claim."""
