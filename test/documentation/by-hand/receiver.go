// A receiver by Go's standard library alone, written from what the service serves: /docs/guides/receiving.
//
// Usage: WEBHOOK_SECRET=... receiver. Listens on a free port of loopback and prints its number.
package main

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	suite     = "service-webhook-v1"
	mostBytes = 257 * 1024
	ceiling   = 300
)

var (
	taking sync.Mutex
	taken  = map[string]time.Time{}
)

func isGenuine(header http.Header, body []byte, secret string) bool {
	timestamp := header.Get("X-Service-Timestamp")
	maxAge := header.Get("X-Service-Signature-Max-Age")
	values := []string{suite, timestamp, maxAge, header.Get("X-Service-Delivery"), header.Get("X-Service-Event"), ""}
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(strings.Join(values, "\n")))
	mac.Write(body)
	made := []byte("sha256=" + hex.EncodeToString(mac.Sum(nil)))
	current := hmac.Equal(made, []byte(header.Get("X-Service-Signature-256")))
	next := hmac.Equal(made, []byte(header.Get("X-Service-Signature-256-Next")))
	if !current && !next {
		return false
	}
	at, wrongTime := strconv.ParseInt(timestamp, 10, 64)
	window, wrongAge := strconv.ParseInt(maxAge, 10, 64)
	age := time.Now().Unix() - at
	return wrongTime == nil && wrongAge == nil && age >= -60 && age <= min(window, ceiling)
}

func isFirst(id string) bool {
	taking.Lock()
	defer taking.Unlock()
	now := time.Now()
	for known, at := range taken {
		if now.Sub(at) > 2*ceiling*time.Second {
			delete(taken, known)
		}
	}
	_, known := taken[id]
	taken[id] = now
	return !known
}

func receive(request *http.Request) int {
	if request.Method != http.MethodPost {
		return http.StatusMethodNotAllowed
	}
	media, _, _ := mime.ParseMediaType(request.Header.Get("Content-Type"))
	if media != "application/json" && media != "application/cloudevents+json" {
		return http.StatusUnauthorized
	}
	if request.Header.Get("X-Service-Signature-Suite") != suite {
		return http.StatusUnauthorized
	}
	body, err := io.ReadAll(io.LimitReader(request.Body, mostBytes))
	if err != nil || !isGenuine(request.Header, body, os.Getenv("WEBHOOK_SECRET")) {
		return http.StatusUnauthorized
	}
	if isFirst(request.Header.Get("X-Service-Delivery")) {
		var event struct{ Type string }
		if json.Unmarshal(body, &event) == nil {
			fmt.Println(event.Type)
		}
	}
	return http.StatusNoContent
}

func main() {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	fmt.Println(listener.Addr().(*net.TCPAddr).Port)
	panic(http.Serve(listener, http.HandlerFunc(func(writer http.ResponseWriter, request *http.Request) {
		writer.WriteHeader(receive(request))
	})))
}
