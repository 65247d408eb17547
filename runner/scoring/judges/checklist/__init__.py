"""The judge that is code: it knows facts by their words."""
