"""Code generation: expressions and laws → the text of a self-contained C, C++ and Python package."""
