"""Entry points of the studies, each a file of this folder."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from thunder_controllers.experiments.study import load_study

FOLDER = Path(__file__).parent

adaptation_shootout = partial(load_study, FOLDER / "adaptation_shootout.yaml")
adaptive_vs_fixed = partial(load_study, FOLDER / "adaptive_vs_fixed.yaml")
bad_day = partial(load_study, FOLDER / "bad_day.yaml")
contact = partial(load_study, FOLDER / "contact.yaml")
gain_study = partial(load_study, FOLDER / "gain_study.yaml")
payload = partial(load_study, FOLDER / "payload.yaml")
redundancy = partial(load_study, FOLDER / "redundancy.yaml")
rpr_partially_known = partial(load_study, FOLDER / "rpr_partially_known.yaml")
sns = partial(load_study, FOLDER / "sns.yaml")
unknown_tool = partial(load_study, FOLDER / "unknown_tool.yaml")
variable_inertia = partial(load_study, FOLDER / "variable_inertia.yaml")
