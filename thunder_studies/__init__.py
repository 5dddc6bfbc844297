"""Studies: experiments as data, a YAML file each, and what they draw, measure and compute; `thunder experiment`."""
