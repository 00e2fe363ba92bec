"""Changes between two runs: pages added, changed, moved, removed, and those that the second run has not seen."""
