"""Where the work is done: training and judging, cut into tasks that run on threads."""
