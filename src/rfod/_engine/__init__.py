"""Engines that run the tasks of a fit or of a scoring on other machines, and what makes a run repeatable."""
