package canary

import (
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
)

// otherLiteral returns a literal of the same kind that no honest program returns instead.
func otherLiteral(s spot, text string, dice *rand.Rand) string {
	literal := text[s.from:s.to]
	quote := literal[len(literal)-1]
	switch {
	case s.char:
		return otherCharacter(literal, dice)
	case quote == '"' || quote == '\'' || quote == '`':
		// Before the closing quote no escape sequence is open, and letters of this alphabet
		// continue none.
		return literal[:len(literal)-1] + drawLetters(dice, 8) + literal[len(literal)-1:]
	case s.word:
		return literal + drawLetters(dice, 8)
	}
	return otherNumber(literal, dice)
}

func drawLetters(dice *rand.Rand, n int) string {
	const letters = "bcdfghjklmnpqrstvwxz"
	text := make([]byte, n)
	for i := range text {
		text[i] = letters[dice.IntN(len(letters))]
	}
	return string(text)
}

func otherCharacter(literal string, dice *rand.Rand) string {
	for {
		if other := "'" + drawLetters(dice, 1) + "'"; other != literal {
			return other
		}
	}
}

// The largest numbers of the usual types. A literal must stay in the smallest type that holds it,
// because its type is unknown, and one that does not fit breaks the build.
var (
	positiveLimits = []uint64{
		math.MaxInt8, math.MaxUint8, math.MaxInt16, math.MaxUint16, math.MaxInt32, math.MaxUint32, math.MaxInt64,
	}
	negativeLimits = []uint64{-math.MinInt8, -math.MinInt16, -math.MinInt32, 1 << 63}
)

// maxStep is how far a changed number is from the original.
const maxStep = 9000

// changeable reports whether otherNumber can change a number.
func changeable(number string) bool {
	whole, fraction, isFloat := strings.Cut(strings.TrimPrefix(number, "-"), ".")
	n, err := strconv.ParseUint(whole, 10, 64)
	if err != nil || n > 1<<53 || strings.Trim(fraction, "0123456789") != "" || len(whole) > 1 && whole[0] == '0' {
		return false
	}
	// a small type of floating-point numbers has six digits
	return !isFloat || len(whole)+len(fraction) <= 6
}

// otherNumber changes the whole part of a number, which stays in the same type and keeps its sign.
func otherNumber(number string, dice *rand.Rand) string {
	rest, negative := strings.CutPrefix(number, "-")
	whole, fraction, isFloat := strings.Cut(rest, ".")
	n, _ := strconv.ParseUint(whole, 10, 64)
	limits, sign := positiveLimits, ""
	if negative {
		limits, sign = negativeLimits, "-"
	}
	low, high := uint64(0), uint64(math.MaxInt64)
	for _, limit := range limits {
		if n <= limit {
			high = limit
			break
		}
		low = limit + 1
	}
	low, high = max(low, n-min(n, maxStep)), min(high, n+maxStep)
	if negative {
		low = max(low, 1) // -0 is 0
	}
	other := n
	for other == n {
		other = low + dice.Uint64N(high-low+1)
	}
	text := sign + strconv.FormatUint(other, 10)
	if isFloat {
		text += "." + fraction
	}
	return text
}
