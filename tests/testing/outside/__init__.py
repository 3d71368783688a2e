"""A structure, a learner, an estimator and a task as somebody else would write them: they touch no other file."""
