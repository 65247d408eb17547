"""What a run shows, in four forms made from one record: data.py makes it, and every form prints it and computes nothing."""
