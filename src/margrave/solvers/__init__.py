"""Solvers that learners use and that are useful on their own: quadratic programs, linear programs, line searches."""
