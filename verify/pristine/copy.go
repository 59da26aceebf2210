package pristine

import (
	"context"
	"errors"
)

func openCopy(context.Context, *Options) (way, error) { return nil, errors.ErrUnsupported }
