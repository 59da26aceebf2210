// Package secrets masks secrets in text that leaves the process: files, events, prompts, screens.
//
// A [Masker] knows the values to mask. It finds each of them as it is, and in the forms in which
// programs print it: base64 at each of the three positions, in both alphabets, and in lines of the
// usual lengths; hexadecimal; percent-encoded; with the escapes of JSON. A match becomes
// [masked:LABEL], where the label names the variable or file that the value is from. A value of
// several lines is found by its lines.
//
// The masker looks at the text in blocks and skips most of them, as Wu and Manber describe. A nil
// masker masks nothing and costs nothing.
//
// The package has no clock and no I/O.
package secrets
