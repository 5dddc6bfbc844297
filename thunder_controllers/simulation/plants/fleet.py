"""ModelPlants: plants of one robot that move together, a row of every array for each."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from thunder_controllers.fields import FloatArray
from thunder_controllers.simulation.options import Firmware
from thunder_controllers.simulation.plants.model import ModelPlant
from thunder_controllers.simulation.plants.plant import Plant
from thunder_controllers.simulation.plants.sensors import Sensors

OWN = ("effort", "offsets", "drive_gain", "_dyn", "_described", "_rotors", "_limit", "_coulomb")
"""Arrays of a plant, a number or more for each joint, that have a row for each plant here."""


def common_options(plant: Plant) -> tuple[object, ...] | None:
    """What plants must have in common to move together, as a key; None: this one moves by itself.

    Bodies, payloads, friction, rotors, offsets, noise, gain, lag and seed may differ.
    """
    options = plant.options
    own = options.faults, options.position_sensor, options.firmware != Firmware()
    alone = plant.springs is not None or plant.bristles is not None or any(own)
    if not isinstance(plant, ModelPlant) or alone:
        return None
    return (
        plant.library_hash,
        plant.ee_link,
        plant.gravity_compensated,
        *(getattr(options, name) for name in ("substeps", "torque_delay", "velocity", "wrapped")),
    )


class ModelPlants(ModelPlant):
    """`ModelPlant`s at their start, moved together from there on: by the same formulas, of arrays (N, n).

    The library computes them in lanes. The plants given have payloads and true inertias, and see the state change.
    """

    _lanes = True

    def __init__(self, members: Sequence[ModelPlant]) -> None:
        vars(self).update(vars(members[0]))
        self._members = tuple(members)
        for name in OWN:
            setattr(self, name, np.stack([getattr(one, name) for one in members]))
        self._viscous = np.zeros((max(len(one._viscous) for one in members), len(members), self.n))
        self._state_vector = np.stack([one._state_vector for one in members], axis=1)
        self._delay = np.stack([one._delay for one in members], axis=1)
        self._lag = self._lag.together([one._lag for one in members])
        self._sensors = Sensors.together([one._sensors for one in members])
        for i, one in enumerate(members):
            self._viscous[: len(one._viscous), i] = one._viscous
            one._dyn, one._state_vector = self._dyn[i], self._state_vector[:, i]
        self._compile()
        self._loaded = [one for one in members if one._pending]
        self._changes = [one.payload_changes for one in members]

    def _change_payloads(self, time: float) -> None:
        for one in self._loaded:
            one._change_payloads(time)

    def changed(self) -> Sequence[int]:
        """Which of the plants have a payload more or less than when this was asked last."""
        if not self._loaded:
            return ()
        before, self._changes = self._changes, [one.payload_changes for one in self._members]
        self._loaded = [one for one in self._members if one._pending]
        return [i for i, now in enumerate(self._changes) if now != before[i]]

    def _check_regular(self, q: FloatArray) -> None:
        """Where M is singular the state is not finite: whoever watches it takes that plant out."""
