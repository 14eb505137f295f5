"""Time series in users' files: `.ts`, `.npz`, CSV, Parquet and folders of WAV files.

NumPy and the standard library only. A wrong file is reported in one line of `UserError` that names
the row and the column.
"""
