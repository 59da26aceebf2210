package config

import (
	"math"
	"strconv"
	"strings"
)

// sizeUnits are powers of 1024.
var sizeUnits = []struct {
	name  string
	bytes float64
}{{"KB", 1 << 10}, {"MB", 1 << 20}, {"GB", 1 << 30}, {"TB", 1 << 40}}

// Bytes returns the bytes of a size such as 4GB or 512 MB; 0 for "".
func Bytes(size string) int64 {
	n, _ := parseSize(size)
	return n
}

func parseSize(size string) (bytes int64, ok bool) {
	text := strings.ToUpper(strings.TrimSpace(size))
	for _, unit := range sizeUnits {
		number, found := strings.CutSuffix(text, unit.name)
		if !found {
			continue
		}
		n, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
		total := n * unit.bytes
		return int64(total), err == nil && total >= 1 && total < math.MaxInt64/2
	}
	return 0, text == ""
}

func checkSize(size string) *problem {
	if _, ok := parseSize(size); ok {
		return nil
	}
	return &problem{msg: quote(size) + " is not a size", hint: "write a number with KB, MB, GB or TB, such as 4GB"}
}
