// Command roots prints the root certificates of Mozilla. It leaves out those that Mozilla
// trusts only for older certificates, which a file of certificates can't say.
package main

import (
	"encoding/pem"
	"log"
	"os"

	"golang.org/x/crypto/x509roots/fallback/bundle"
)

func main() {
	for root := range bundle.Roots() {
		if root.Constraint != nil {
			continue
		}
		if err := pem.Encode(os.Stdout, &pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate}); err != nil {
			log.Fatal(err)
		}
	}
}
