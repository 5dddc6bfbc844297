"""Functions and laws of a robot in one file for other machines than a processor's C: array libraries and CUDA."""
