// For targets that are made for the header that they precompile for others.
