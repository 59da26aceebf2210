package process

import (
	"errors"
	"fmt"
)

// Accompany is not supported on this system.
func Accompany([]string, []string) (stop func(), err error) {
	return nil, fmt.Errorf("accompany: %w", errors.ErrUnsupported)
}
