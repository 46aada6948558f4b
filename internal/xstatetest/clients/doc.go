// Package clients finds what others wrote, with which tests compare: clients, servers, packages and their interpreters.
package clients
