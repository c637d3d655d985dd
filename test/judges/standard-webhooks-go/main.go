// Judges each line of a file of deliveries, and prints how many cases passed and failed.
package main

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"os"
	"strings"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

func accepts(secret string, body []byte, headers http.Header) bool {
	webhook, err := standardwebhooks.NewWebhook(secret)
	return err == nil && webhook.Verify(body, headers) == nil
}

func main() {
	text, err := os.ReadFile(os.Args[1])
	if err != nil {
		panic(err)
	}
	passed, failed := 0, 0
	for _, line := range strings.Split(strings.TrimSpace(string(text)), "\n") {
		fields := strings.Split(line, "\t")
		headers := http.Header{}
		headers.Set("webhook-id", fields[2])
		headers.Set("webhook-timestamp", fields[3])
		headers.Set("webhook-signature", fields[4])
		body, err := base64.StdEncoding.DecodeString(fields[5])
		if err != nil {
			panic(err)
		}
		secrets := strings.Split(fields[1], ",")
		count := 0
		for _, secret := range secrets {
			if accepts(secret, body, headers) {
				count++
			}
		}
		if map[string]bool{"each": count == len(secrets), "any": count > 0, "none": count == 0}[fields[0]] {
			passed++
		} else {
			failed++
		}
	}
	fmt.Println(passed, failed)
}
