"""The models of a running statechart and the stores that keep it."""
