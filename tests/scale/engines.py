"""Two workers in two network namespaces, each with a Docker Engine of its own: real cells."""
