"""Many lives of one subject: random runs, their minimisation, and the distinct faults they found."""
