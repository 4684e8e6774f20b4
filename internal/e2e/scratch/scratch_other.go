//go:build !linux

package scratch

func memoryDir() string { return "" }
