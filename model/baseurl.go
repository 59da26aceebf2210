package model

import (
	"errors"
	"net/url"
)

// CheckBaseURL reports what is wrong with the base URL of a provider. An empty one stands for the provider's own.
func CheckBaseURL(base string) error {
	if base == "" {
		return nil
	}
	u, err := url.Parse(base)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return errors.New("the base URL has to be like https://host/v1")
	}
	return nil
}
