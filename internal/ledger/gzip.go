package ledger

// GzipJSON is canonical JSON that is kept gzipped in a record.
type GzipJSON []byte
