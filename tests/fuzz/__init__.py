"""The fuzzer: seeded cases over every format, model, checkpoint, command, argument and function of the core.

A target is one thing to try, such as a reader or a bound function. A case is a function of the target and a seed; it is
JSON, so that a failure can be made smaller and kept. A case must end in an answer or be refused in one sentence.

    make fuzz MINUTES=5                                  all targets, on worker processes with limits
    python -m tests.fuzz readers:read_columns 17         one case again
    python -m tests.fuzz tests/fuzz/regressions/x.json   a case from a file
"""
