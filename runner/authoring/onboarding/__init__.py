"""`fairtrial try`: from a server's name to a report, with every guess said.

It makes an ordinary server's folder (locks, server.yaml) by looking at the server itself, and hands
it to the ordinary run. What it guesses: how the server is started, what it must be told first, and
a canary. All of that is measured in the sandbox, and nothing goes by the name of a server.
"""
