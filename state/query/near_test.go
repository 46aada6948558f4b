package query

import "testing"

func TestDidYouMean(t *testing.T) {
	names := []string{"b1", "top", "total", "quantile", "größe"}
	for word, want := range map[string]string{
		"tpo": "top", "otp": "top", "Top": "top", "totl": "total", "qantiel": "quantile", "grösse": "größe",
		"x": "", "window": "", "": "", "b7": "", "B1": "b1",
	} {
		if want != "" {
			want = "did you mean " + want + "? "
		}
		if got := DidYouMean(word, names); got != want {
			t.Errorf("DidYouMean(%q) = %q, want %q", word, got, want)
		}
	}
}
