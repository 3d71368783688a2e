"""What predicts: one file for the model of each estimator. Importing them imports neither scikit-learn nor SciPy."""
