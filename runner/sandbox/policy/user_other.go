//go:build !darwin

package policy

// userConfig is the user's folder of configurations, from the home.
const userConfig = ".config"
