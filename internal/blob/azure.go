package blob

import (
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/md5"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"

	"trueup/internal/diag"
)

// azureVersion is the version of the protocol.
const azureVersion = "2021-12-02"

// azureServer is a container of Azure Blob Storage. It creates block blobs with If-None-Match: *, each in one request.
type azureServer struct {
	bucket
	account string
	now     func() time.Time
	login   azureCredentials
}

func (s *azureServer) withOwnConnection() server { return s }

func (s *azureServer) locateRequest(r bucketRequest) *url.URL {
	if r.key == "" {
		return s.address
	}
	return s.address.JoinPath(r.key)
}

// signRequest signs a request by the first credentials that there are: a token of a workload identity, a shared access
// signature, or the key of the account.
func (s *azureServer) signRequest(req *http.Request, _ []byte) error {
	req.Header.Set("X-Ms-Version", azureVersion)
	req.Header.Set("X-Ms-Date", s.now().UTC().Format(http.TimeFormat))
	switch {
	case s.login.token != nil:
		token, err := s.login.token.Token()
		if err != nil {
			return &credentialsError{err, azureNeed}
		}
		token.SetAuthHeader(req)
	case s.login.signature != "":
		req.URL.RawQuery = strings.Trim(req.URL.RawQuery+"&"+s.login.signature, "&")
	case len(s.login.key) > 0:
		sum := hmac.New(sha256.New, s.login.key)
		_, _ = io.WriteString(sum, azureStringToSign(req, s.account))
		req.Header.Set("Authorization", "SharedKey "+s.account+":"+base64.StdEncoding.EncodeToString(sum.Sum(nil)))
	default:
		return &credentialsError{errors.New("none"), azureNeed}
	}
	return nil
}

// azureStringToSign is the text that a key signs.
func azureStringToSign(req *http.Request, account string) string {
	length := ""
	if req.ContentLength > 0 {
		length = strconv.FormatInt(req.ContentLength, 10)
	}
	h := req.Header
	lines := []string{
		req.Method, h.Get("Content-Encoding"), h.Get("Content-Language"), length, h.Get("Content-MD5"), h.Get("Content-Type"), "",
		h.Get("If-Modified-Since"), h.Get("If-Match"), h.Get("If-None-Match"), h.Get("If-Unmodified-Since"), h.Get("Range"),
	}
	for _, name := range slices.Sorted(maps.Keys(h)) {
		if strings.HasPrefix(name, "X-Ms-") {
			lines = append(lines, strings.ToLower(name)+":"+h.Get(name))
		}
	}
	lines = append(lines, "/"+account+req.URL.EscapedPath())
	query := req.URL.Query()
	for _, name := range slices.Sorted(maps.Keys(query)) {
		lines = append(lines, name+":"+query.Get(name))
	}
	return strings.Join(lines, "\n")
}

// put sends one request. The server checks the checksum, and confirms it.
func (s *azureServer) put(ctx context.Context, key string, content []byte) (confirmed bool, err error) {
	sum := md5.Sum(content)
	text := base64.StdEncoding.EncodeToString(sum[:])
	header, _, err := s.send(ctx, bucketRequest{
		method: http.MethodPut, key: key, body: content,
		header: map[string]string{
			"If-None-Match": "*", "X-Ms-Blob-Type": "BlockBlob", "Content-Type": "application/json", "Content-MD5": text,
		},
	})
	return err == nil && header.Get("Content-MD5") == text, err
}

func (s *azureServer) listPage(ctx context.Context, prefix, token string, most int) (keys []string, next string, err error) {
	query := url.Values{"restype": {"container"}, "comp": {"list"}, "prefix": {prefix}, "maxresults": {strconv.Itoa(most)}}
	if token != "" {
		query.Set("marker", token)
	}
	p, err := s.readListing(ctx, "EnumerationResults", query)
	return p.Names, p.NextMarker, err
}

func (s *azureServer) hint(err error, _ string) string {
	answer := serverError(err)
	switch answer.Code.String() {
	case "ContainerNotFound":
		return ": create the container, or correct ledger: in trueup.yaml"
	case "AuthenticationFailed", "InvalidAuthenticationInfo":
		return ": renew the credentials, and check this machine's clock"
	}
	if answer.Status == http.StatusForbidden {
		return ": plan needs the role Storage Blob Data Reader on the container; apply and trueup ledger init need Storage Blob Data Contributor"
	}
	return ""
}

const (
	azureForm = "azblob://CONTAINER/PREFIX"
	azureNeed = "set AZURE_STORAGE_KEY or AZURE_STORAGE_SAS_TOKEN, or AZURE_TENANT_ID, AZURE_CLIENT_ID and AZURE_CLIENT_SECRET. Instead of the secret, trueup takes AZURE_FEDERATED_TOKEN_FILE for a store that TRUEUP_LEDGER or TRUEUP_PROJECTS names"
)

var (
	azureContainer = diag.Pattern(`^[a-z0-9]([a-z0-9-]{1,61}[a-z0-9])$`)
	azureAccount   = diag.Pattern(`^[a-z0-9]{3,24}$`)
	azureTenant    = diag.Pattern(`^[A-Za-z0-9.-]+$`)
)

// azureCredentials is the credentials of a run.
type azureCredentials struct {
	token     oauth2.TokenSource
	signature string
	key       []byte
}

// OpenAzure parses azblob://CONTAINER/PREFIX. It sends no request. The environment names the account and its
// credentials: a repository must not choose where they go. Only a trusted store may have an endpoint, or use a workload
// identity, which a cluster may have given to the machine.
func OpenAzure(store string, trusted bool, getenv func(string) string, now func() time.Time) (*RemoteStore, error) {
	container, prefix, query, err := splitStoreURL(store, azureForm)
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
	address, err := parseEndpointParam(query, trusted, "https://"+account+".blob.core.windows.net")
	if err != nil {
		return nil, err
	}
	s := &azureServer{bucket: newBucket("azblob", container, address.JoinPath(container)), account: account, now: now}
	s.locate, s.sign = s.locateRequest, s.signRequest
	if s.login, err = findAzureLogin(getenv, trusted, s.http); err != nil {
		return nil, err
	}
	return newRemoteStore(s, prefix), nil
}

func findAzureLogin(getenv func(string) string, trusted bool, client *http.Client) (login azureCredentials, err error) {
	login.signature = strings.TrimPrefix(getenv("AZURE_STORAGE_SAS_TOKEN"), "?")
	if login.key, err = base64.StdEncoding.DecodeString(getenv("AZURE_STORAGE_KEY")); err != nil {
		return login, errors.New("AZURE_STORAGE_KEY is not the key of a storage account: it is not in base64")
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
	login.token = oauth2.ReuseTokenSource(nil, &azureTokenSource{
		client: client, file: file,
		config: clientcredentials.Config{
			ClientID: id, ClientSecret: secret, TokenURL: authority.JoinPath(tenant, "oauth2/v2.0/token").String(),
			Scopes: []string{"https://storage.azure.com/.default"}, AuthStyle: oauth2.AuthStyleInParams,
		},
	})
	return login, nil
}

// azureTokenSource gets tokens by a secret, or by the token of a workload that a file has.
type azureTokenSource struct {
	client *http.Client
	config clientcredentials.Config
	file   string
}

// Token reads the file anew each time: its token expires.
func (a *azureTokenSource) Token() (*oauth2.Token, error) {
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
