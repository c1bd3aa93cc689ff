"""What is claimed of speed: ratios of two things measured in turn, with peers beside us. `make bench` runs it."""
