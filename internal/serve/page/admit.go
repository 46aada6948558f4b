package page

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
)

// Invite returns the path of an address that lets one browser in. edit: it may change sessions, too.
func (p *Page) Invite(edit bool) string {
	i := invitation{code: rand.Text(), right: rightLook}
	if edit {
		i.right = rightEdit
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.invitations = append(p.invitations, i); len(p.invitations) > mostInvitations {
		p.invitations = p.invitations[1:]
	}
	return root + "enter?code=" + i.code
}

// enter exchanges the code of an invitation for a cookie.
func (p *Page) enter(w http.ResponseWriter, r *http.Request) {
	code := r.URL.Query().Get("code")
	p.mu.Lock()
	var granted right
	for n, i := range p.invitations {
		if hmac.Equal([]byte(i.code), []byte(code)) {
			granted = i.right
			p.invitations = append(p.invitations[:n:n], p.invitations[n+1:]...)
			break
		}
	}
	p.mu.Unlock()
	if granted == "" {
		p.refuse(w, http.StatusUnauthorized)
		return
	}
	value, err := p.cookie(granted)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	http.SetCookie(w, &http.Cookie{
		Name: p.cookieName(), Value: value, Path: root, HttpOnly: true, SameSite: http.SameSiteStrictMode,
	})
	http.Redirect(w, r, root, http.StatusSeeOther)
}

// cookieName differs from store to store: browsers do not tell the ports of a machine apart.
func (p *Page) cookieName() string {
	name := sha256.Sum256([]byte(p.Store))
	return "xstate-" + hex.EncodeToString(name[:6])
}

// cookie is the value of the cookie for a right.
func (p *Page) cookie(of right) (string, error) {
	secret, err := p.Secret()
	m := hmac.New(sha256.New, []byte(secret))
	m.Write([]byte("page " + of))
	return hex.EncodeToString(m.Sum(nil)), err
}

// rightOf returns what the browser that sent a request may do; "": nothing.
func (p *Page) rightOf(r *http.Request) right {
	shown, err := r.Cookie(p.cookieName())
	if err != nil {
		return ""
	}
	for _, of := range []right{rightEdit, rightLook} {
		if value, err := p.cookie(of); err == nil && hmac.Equal([]byte(shown.Value), []byte(value)) {
			return of
		}
	}
	return ""
}

// admitting lets a browser in if it has a right.
func (p *Page) admitting(needed right, h func(http.ResponseWriter, *http.Request)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		switch has := p.rightOf(r); {
		case has == "":
			p.refuse(w, http.StatusUnauthorized)
		case needed == rightEdit && has != rightEdit:
			p.refuse(w, http.StatusForbidden)
		default:
			h(w, r)
		}
	}
}

// refuse says how to get in.
func (p *Page) refuse(w http.ResponseWriter, status int) {
	message := "This address is good once, for one browser. `xstate ui` makes another one."
	if status == http.StatusForbidden {
		message = "This page may only look. `xstate ui --edit` opens one that may change sessions."
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_ = templates().ExecuteTemplate(w, "refused", message) // the client is gone
}
