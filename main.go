// Command trueup keeps a cloud platform true to git.
package main

func main() {}
