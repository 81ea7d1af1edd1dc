"""The page of the audit log, for administrators: what was done, by whom, and whether it holds."""
