"""Time series in users' files: `.ts`, `.npz`, CSV, Parquet and folders of WAV files.

NumPy and the standard library only. An invalid file raises a `UserError` of one line that names the
row and the column.
"""
