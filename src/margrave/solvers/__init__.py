"""Solvers of programs that learners meet, each useful without them: quadratic programs, linear programs, lines."""
