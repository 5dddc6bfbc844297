"""Studies of adaptation on the demo's arm and path, after published ones."""
