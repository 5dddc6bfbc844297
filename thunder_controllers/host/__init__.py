"""The host: loads a compiled robot library, runs one of its laws and guards what goes in and out.

    library = Library("panda_generatedFiles/libpanda.so")
    host = Controller()
    host.configure(library, law="cartesian_backstepping", gains={"K_d": 10.0}, options=Options(nominal_dt=0.001))
    host.activate(q)
    guards = Guard(host.update(t, q, qd, dt, effort))  # effort is written in place

The C++ class behind it is `thunder::Controller`; its header says which thread may call what.
"""

from thunder_controllers.host._host import Controller, Entry, Function, Law, Library, Options, Status
from thunder_controllers.host.guard import BLOCKING_GUARDS, Guard

__all__ = ["BLOCKING_GUARDS", "Controller", "Entry", "Function", "Guard", "Law", "Library", "Options", "Status"]
