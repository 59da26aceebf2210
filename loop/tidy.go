package loop

// keptAtMost is how many files are put back: what is put back is kept as it was found, and a check that writes so many should write somewhere else.
const keptAtMost = 1000
