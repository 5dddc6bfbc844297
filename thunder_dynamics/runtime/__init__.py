"""What robots are calculated with from Python: one class, on a compiled library or on CasADi's virtual machine."""
