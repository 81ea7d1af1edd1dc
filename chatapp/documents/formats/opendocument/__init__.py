"""OpenDocument text, presentations and drawings; `spreadsheets` has the sheets."""
