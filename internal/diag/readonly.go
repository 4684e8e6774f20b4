package diag

import "errors"

// ErrReadOnly is the error of everything that would change the platform, a ledger or a code host in a read-only run.
var ErrReadOnly = errors.New("TRUEUP_READ_ONLY is set, so trueup changes no platform, ledger or code host: unset it, or try it with --sandbox")
