// The unit whose precompiled header all unit tests share.
