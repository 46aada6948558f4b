// Package proxy lets a bounded program reach the hosts that its bounds allow, and no others. The program speaks HTTP to
// it: CONNECT, or a request with a whole address.
//
// The proxy resolves the names itself, and the program never sends a query for a name. So a name cannot carry data out.
//
// # What a name may lead to
//
// A name that is allowed may lead to public addresses alone. The owner of the name could otherwise lead the program to
// a service of this machine or its network. An address that is allowed as such may be any.
//
// # Who may connect
//
// In a network namespace, only the processes of the box reach the listener. Elsewhere any process of the machine could,
// so the supervisor, which connects for the program, admits each connection beforehand.
package proxy
