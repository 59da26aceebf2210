package pristine

import (
	"context"
	"errors"
)

func openInPlace(context.Context, *Options) (way, error) { return nil, errors.ErrUnsupported }
