// Package gateway starts a server of the protocol of S3 that others wrote (versitygw), for tests.
package gateway
