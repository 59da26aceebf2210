package scriptedmodel

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"sync"
)

// Running is a listening server.
type Running struct {
	*Server
	http     *http.Server
	listener net.Listener
	done     sync.WaitGroup
	err      error
}

// Listen starts to serve on a loopback address; "127.0.0.1:0" uses a free port. Other addresses are
// refused, because the server does not authenticate its clients. The caller must close the result.
func Listen(addr string, s *Server) (*Running, error) {
	if err := checkLoopback(addr); err != nil {
		return nil, err
	}
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	r := &Running{Server: s, http: &http.Server{Handler: s}, listener: l}
	r.done.Go(func() {
		if err := r.http.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			r.err = fmt.Errorf("serve: %w", err)
		}
	})
	return r, nil
}

func checkLoopback(addr string) error {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	if ip, err := netip.ParseAddr(host); err != nil || !ip.IsLoopback() {
		return fmt.Errorf("listen on %s: only a loopback address such as 127.0.0.1 is allowed", addr)
	}
	return nil
}

// URL returns the base URL, without a trailing slash.
func (r *Running) URL() string { return "http://" + r.listener.Addr().String() }

// Close ends all current requests and stops listening.
func (r *Running) Close() error {
	closed := r.http.Close()
	r.Server.Close()
	r.done.Wait()
	return errors.Join(closed, r.err)
}
