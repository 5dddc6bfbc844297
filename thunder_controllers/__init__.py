"""Control laws and everything that runs them: the C++ host, the MuJoCo simulation, references and reports.

Importing this package imports none of them, so that each costs only what it needs.
"""
