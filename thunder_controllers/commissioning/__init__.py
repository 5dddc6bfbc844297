"""A start-up motion: what an arm tells in its first seconds of what its description does not say (theory.md §12).

`plan` makes the motion, `estimate` reads its record, `file` writes what was found; none of them knows an arm or ROS.
A door, such as `simulation`, plays stages and hands their records back.
"""
