package manifest

type positions struct{}
