package bench

import ("testing";"os")

func BenchmarkProf(b *testing.B) {
	text, _ := os.ReadFile(os.Getenv("PROG"))
	for b.Loop() {
		s := newShellSession(b)
		_, out := s.load(string(text)); b.Log(out.Seconds, out.ResultSeconds, out.TotalSeconds)
		s.close()
	}
}
