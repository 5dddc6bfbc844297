"""The true robot of a simulation: what all plants do, and one file per engine that integrates one."""
