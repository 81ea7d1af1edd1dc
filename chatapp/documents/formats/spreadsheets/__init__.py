"""Spreadsheets: the cells of each sheet as people see them, as a Markdown table.

`excel` and `ods` read the two kinds of files into `Sheet` objects of `sheets`, which write
the Markdown. Sheets are parsed as a stream, and cost what their cells cost, wherever these are.
Formulas and macros never run.
"""
