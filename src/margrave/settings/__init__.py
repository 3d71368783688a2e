"""The settings of the estimators, one file each: declared once, with default, type, help and check.

Constructors, docstrings, checks and options of the command line all come from these declarations. The files import
neither NumPy nor scikit-learn, so `margrave --help` can read them.
"""
