package remote

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
)

// serverAddress is grpc://host:port/instance, or with grpcs: for TLS. Most servers have one instance, without a name.
type serverAddress struct {
	host     string // with the port
	instance string
	secure   bool
}

// parseAddress refuses an address that could have a password or a token, because errors show addresses.
func parseAddress(address string) (serverAddress, error) {
	u, err := url.Parse(address)
	if err != nil {
		return serverAddress{}, fmt.Errorf("the address of a cache: %w", errors.Unwrap(err))
	}
	secure := u.Scheme == "grpcs"
	switch {
	case !secure && u.Scheme != "grpc", u.Hostname() == "", u.Port() == "":
	case u.User != nil, u.RawQuery != "", u.Fragment != "":
	default:
		return serverAddress{u.Host, strings.Trim(u.Path, "/"), secure}, nil
	}
	return serverAddress{}, fmt.Errorf("the address of a cache, %s://%s: want grpc://host:port or grpcs://host:port, "+
		"and at most a path", u.Scheme, u.Host)
}

// Server is what a server may want from its users, and how they know that it is the right one.
type Server struct {
	Authorities string // a file with certificates (PEM) that are trusted in place of those of the system
	Certificate string // a file with the certificate of this user (PEM)
	Key         string // a file with its key (PEM)
	Token       string // a bearer token; in Settings the variable of the environment that holds it
}

// dial returns how to connect to an address.
func (o Server) dial(at serverAddress) ([]grpc.DialOption, error) {
	if !at.secure {
		if o != (Server{}) {
			return nil, errors.New("certificates and tokens need TLS: grpcs://host:port")
		}
		return []grpc.DialOption{grpc.WithTransportCredentials(insecure.NewCredentials())}, nil
	}
	config, err := o.config()
	if err != nil {
		return nil, err
	}
	dial := []grpc.DialOption{grpc.WithTransportCredentials(credentials.NewTLS(config))}
	if o.Token != "" {
		dial = append(dial, grpc.WithPerRPCCredentials(bearer(o.Token)))
	}
	return dial, nil
}

func (o Server) config() (*tls.Config, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if o.Authorities != "" {
		text, err := os.ReadFile(o.Authorities)
		if err != nil {
			return nil, err
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(text) {
			return nil, fmt.Errorf("%s has no certificate", o.Authorities)
		}
	}
	if o.Certificate != "" || o.Key != "" {
		own, err := tls.LoadX509KeyPair(o.Certificate, o.Key)
		if err != nil {
			return nil, fmt.Errorf("read the certificate of this user: %w", err)
		}
		config.Certificates = []tls.Certificate{own}
	}
	return config, nil
}

// bearer is a token that is sent with each call.
type bearer string

func (b bearer) GetRequestMetadata(context.Context, ...string) (map[string]string, error) {
	return map[string]string{"authorization": "Bearer " + string(b)}, nil
}

// RequireTransportSecurity keeps the token from being read on its way.
func (bearer) RequireTransportSecurity() bool { return true }
