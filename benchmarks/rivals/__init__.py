"""One driver a rival, each run as a process of its own."""
