// An agent by Go's standard library alone, written from what the service serves: /docs/guides/agents.
//
// Usage: ISSUER=... HANDED=... agent <algorithm>. HANDED is the answer of management with an enrollment token. The agent
// enrolls a key of its own, authenticates with it, and prints what the service says of it.
package main

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"
)

type fields map[string]any

// A key: its raw public half, and the signature of a text.
type key struct {
	raw  []byte
	sign func(text string) []byte
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func makeKey(algorithm string) key {
	if algorithm == "ed25519" {
		public, private, err := ed25519.GenerateKey(rand.Reader)
		check(err)
		return key{public, func(text string) []byte { return ed25519.Sign(private, []byte(text)) }}
	}
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	check(err)
	point, err := private.PublicKey.ECDH()
	check(err)
	return key{point.Bytes(), func(text string) []byte {
		digest := sha256.Sum256([]byte(text))
		r, s, err := ecdsa.Sign(rand.Reader, private, digest[:])
		check(err)
		signature := make([]byte, 64)
		r.FillBytes(signature[:32])
		s.FillBytes(signature[32:])
		return signature
	}}
}

func send(method, url string, body any, token string) fields {
	var content io.Reader
	if body != nil {
		text, err := json.Marshal(body)
		check(err)
		content = bytes.NewReader(text)
	}
	request, err := http.NewRequest(method, url, content)
	check(err)
	request.Header.Set("Content-Type", "application/json")
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	answer, err := http.DefaultClient.Do(request)
	check(err)
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	check(err)
	if answer.StatusCode >= 300 {
		check(fmt.Errorf("%s: %s", answer.Status, text))
	}
	var result fields
	check(json.Unmarshal(text, &result))
	return result
}

func seconds(value any) string {
	at, err := time.Parse(time.RFC3339, value.(string))
	check(err)
	return fmt.Sprint(at.Unix())
}

func main() {
	issuer, algorithm := os.Getenv("ISSUER"), os.Args[1]
	var handed map[string]string
	check(json.Unmarshal([]byte(os.Getenv("HANDED")), &handed))
	own := makeKey(algorithm)
	digest := sha256.Sum256(own.raw)
	fingerprint := hex.EncodeToString(digest[:])
	sign := func(lines ...string) string {
		return base64.StdEncoding.EncodeToString(own.sign(strings.Join(lines, "\n")))
	}

	send("POST", handed["enroll_url"], fields{
		"token":      handed["token"],
		"algorithm":  algorithm,
		"public_key": hex.EncodeToString(own.raw),
		"proof":      sign("SERVICE-KEY-PROOF-V1", handed["tenant_id"], handed["agent_id"], fingerprint),
	}, "")

	challenge := send("POST", issuer+"/auth/agent/challenge", fields{
		"key_fingerprint": fingerprint, "scope": "openid",
	}, "")
	lines := []string{
		"SERVICE-CHALLENGE-V1",
		fmt.Sprintf("nonce:%s", challenge["nonce"]),
		"timestamp:" + seconds(challenge["timestamp"]),
		"expires_at:" + seconds(challenge["expires_at"]),
	}
	for _, name := range []string{"audience", "client_id", "scope_hash", "key_fingerprint", "algorithm"} {
		lines = append(lines, fmt.Sprintf("%s:%s", name, challenge[name]))
	}
	tokens := send("POST", issuer+"/auth/agent/verify", fields{
		"challenge_id": challenge["challenge_id"], "algorithm": algorithm, "signature": sign(lines...),
	}, "")
	self := send("GET", issuer+"/auth/agent/self", nil, tokens["access_token"].(string))
	check(json.NewEncoder(os.Stdout).Encode(self))
}
