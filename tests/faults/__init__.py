"""Faults of every kind, done to clients, connections and servers while they work."""
