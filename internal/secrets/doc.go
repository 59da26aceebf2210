// Package secrets masks secrets in text that leaves the process: files, events, prompts, screens.
//
// A [Masker] knows the values to mask. It finds each of them as it is, and in the forms in which
// programs print it: base64 at each of the three positions, in both alphabets, and in lines of the
// usual lengths; hexadecimal; percent-encoded; with the escapes of JSON. A match becomes
// [masked:LABEL], where the label names the variable or file that the value is from. A value of
// several lines is found by its lines. Another value, line or form with the same label has a number
// after it, as in [masked:LABEL#2] and [masked:LABEL#1.9], because a command that was recorded with
// masks must be restored as it was.
//
// The masker looks at the text in blocks and skips most of them, as Wu and Manber describe. A nil
// masker masks nothing and costs nothing.
//
// The package has no clock and no I/O.
package secrets
