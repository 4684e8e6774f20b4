package api

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
)

// proxyError is a proxy's own failure, not the platform's.
type proxyError struct {
	// status is the proxy's answer, 0 where it gave none.
	status int
	says   string
	err    error
}

// Error says that it is the proxy's.
func (e *proxyError) Error() string { return e.says }

// Unwrap returns what lies below.
func (e *proxyError) Unwrap() error { return e.err }

// throughProxy is asked what to make of a proxy's answer to CONNECT. The proxy
// is named by its host alone, for its address may hold a password.
func throughProxy(_ context.Context, proxy *url.URL, _ *http.Request, resp *http.Response) error {
	if resp.StatusCode == http.StatusOK {
		return nil
	}
	fix := "this answer is from the proxy, not the platform: check HTTPS_PROXY, NO_PROXY, or proxy in the profile"
	if resp.StatusCode == http.StatusProxyAuthRequired {
		fix = "write its user and password into the address of the proxy: http://USER:PASSWORD@" + proxy.Host
	}
	return &proxyError{
		status: resp.StatusCode,
		says:   fmt.Sprintf("the proxy %s answered %d %s: %s", proxy.Host, resp.StatusCode, http.StatusText(resp.StatusCode), fix),
	}
}

// asProxys says of an error that it befell the way to the proxy.
func asProxys(err error) error {
	var op *net.OpError
	if !errors.As(err, &op) || op.Op != "proxyconnect" {
		return err
	}
	return &proxyError{
		says: fmt.Sprintf("the proxy can't be reached: %v: check HTTPS_PROXY, NO_PROXY, or proxy in the profile", op.Err),
		err:  err,
	}
}
