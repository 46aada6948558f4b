package query

import "testing"

func TestDidYouMean(t *testing.T) {
	names := []string{"top", "total", "quantile", "größe"}
	for word, want := range map[string]string{
		"tpo": "top", "otp": "top", "Top": "top", "totl": "total", "qantiel": "quantile", "grösse": "größe",
		"x": "", "window": "", "": "",
	} {
		if want != "" {
			want = "did you mean " + want + "? "
		}
		if got := DidYouMean(word, names); got != want {
			t.Errorf("DidYouMean(%q) = %q, want %q", word, got, want)
		}
	}
}
