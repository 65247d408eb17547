"""What a run shows, in four forms made from one record.

data.py makes the record; every form prints it and computes nothing.
"""
