"""What a statechart reacts to."""
