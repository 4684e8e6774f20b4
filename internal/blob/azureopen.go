package blob

import (
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"strings"
	"sync"
	"time"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"
)

const (
	azureForm = "azblob://CONTAINER/PREFIX"
	azureNeed = "set AZURE_STORAGE_KEY or AZURE_STORAGE_SAS_TOKEN, or AZURE_TENANT_ID, AZURE_CLIENT_ID and AZURE_CLIENT_SECRET. Instead of the secret, trueup takes AZURE_FEDERATED_TOKEN_FILE for a store that TRUEUP_LEDGER or TRUEUP_PROJECTS names"
)

var (
	azureContainer = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{1,61}[a-z0-9])$`) })
	azureAccount   = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z0-9]{3,24}$`) })
	azureTenant    = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9.-]+$`) })
)

// azureLogin is the credentials of a run.
type azureLogin struct {
	token     oauth2.TokenSource
	signature string
	key       []byte
}

// OpenAzure parses azblob://CONTAINER/PREFIX. It sends no request. The environment names the account and its
// credentials: a repository must not choose where they go. Only a trusted store may have an endpoint, or use a workload
// identity, which a cluster may have given to the machine.
func OpenAzure(store string, trusted bool, getenv func(string) string, now func() time.Time) (*Remote, error) {
	container, prefix, query, err := parsePlace(store, azureForm)
	if err != nil {
		return nil, err
	}
	account := getenv("AZURE_STORAGE_ACCOUNT")
	if !azureContainer().MatchString(container) || strings.Contains(container, "--") {
		return nil, fmt.Errorf("container %q must have 3 to 63 lower-case letters, digits and single hyphens", container)
	}
	if !azureAccount().MatchString(account) {
		return nil, errors.New("AZURE_STORAGE_ACCOUNT does not name the storage account: set it to 3 to 24 lower-case letters and digits")
	}
	address, err := endpointOf(query, trusted, "https://"+account+".blob.core.windows.net")
	if err != nil {
		return nil, err
	}
	s := &azureServer{http: httpClient(), address: address.JoinPath(container), account: account, container: container, now: now}
	s.http.Transport = newTransport()
	if s.login, err = azureLoginOf(getenv, trusted, &s.http); err != nil {
		return nil, err
	}
	return newRemote(s, prefix), nil
}

func azureLoginOf(getenv func(string) string, trusted bool, client *http.Client) (login azureLogin, err error) {
	login.signature = strings.TrimPrefix(getenv("AZURE_STORAGE_SAS_TOKEN"), "?")
	if login.key, err = base64.StdEncoding.DecodeString(getenv("AZURE_STORAGE_KEY")); err != nil {
		return login, errors.New("AZURE_STORAGE_KEY is not the key of a storage account: it is not in base64")
	}
	if len(login.key) == 0 {
		login.key = nil
	}
	tenant, id, secret, file := getenv("AZURE_TENANT_ID"), getenv("AZURE_CLIENT_ID"), getenv("AZURE_CLIENT_SECRET"), getenv("AZURE_FEDERATED_TOKEN_FILE")
	if !trusted {
		file = ""
	}
	if tenant == "" || id == "" || secret == "" && file == "" {
		return login, nil
	}
	authority, err := parseEndpoint(cmp.Or(getenv("AZURE_AUTHORITY_HOST"), "https://login.microsoftonline.com"))
	if err != nil || !azureTenant().MatchString(tenant) {
		return login, errors.New("AZURE_AUTHORITY_HOST and AZURE_TENANT_ID name no https address and tenant")
	}
	login.token = oauth2.ReuseTokenSource(nil, &azureIdentity{
		client: client, file: file,
		config: clientcredentials.Config{
			ClientID: id, ClientSecret: secret, TokenURL: authority.JoinPath(tenant, "oauth2/v2.0/token").String(),
			Scopes: []string{"https://storage.azure.com/.default"}, AuthStyle: oauth2.AuthStyleInParams,
		},
	})
	return login, nil
}

// azureIdentity gets tokens by a secret, or by the token of a workload that a file has.
type azureIdentity struct {
	client *http.Client
	config clientcredentials.Config
	file   string
}

// Token reads the file anew each time: its token expires.
func (a *azureIdentity) Token() (*oauth2.Token, error) {
	config := a.config
	if a.file != "" {
		assertion, err := os.ReadFile(a.file)
		if err != nil {
			return nil, err
		}
		config.ClientSecret = ""
		config.EndpointParams = url.Values{
			"client_assertion_type": {"urn:ietf:params:oauth:client-assertion-type:jwt-bearer"},
			"client_assertion":      {strings.TrimSpace(string(assertion))},
		}
	}
	return config.Token(context.WithValue(context.Background(), oauth2.HTTPClient, a.client))
}
