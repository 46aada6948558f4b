package sandbox

// ownRefused are refused calls that this processor alone has.
var ownRefused []int

var ownModes []struct{ number, arg int }
