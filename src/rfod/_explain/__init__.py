"""Why a cell is a finding: conditions from the trees, counted on training rows, in sentences."""
