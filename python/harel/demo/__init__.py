"""Orders on their way through worker processes, of which one is killed, as is the server, and the proof that nothing
was lost or done twice all the same.

The statechart in `orders.py` is the part to read.
"""
