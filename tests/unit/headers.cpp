// The precompiled header of all unit tests.
