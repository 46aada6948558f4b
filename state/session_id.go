package state

// sessionID is the prefix of a session's keys. It has no meaning outside its store: an archive names sessions.
type sessionID uint64
