"""State store providers: the names of their files, the chains that make versions, and readers.

There is one folder for each provider (:mod:`inspector.providers.registry`). No module above this
package knows the name of a state file.
"""
