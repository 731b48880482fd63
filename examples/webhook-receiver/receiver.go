// Receives webhooks: WEBHOOK_SECRET=whsec_... go run receiver.go. It listens on PORT (3000), behind a proxy that ends TLS.
package main

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	largestBody = 1_000_000
	tolerance   = 5 * time.Minute
)

// An event may come twice under one id. Keep the ids of a day where a restart does not lose them.
var seen sync.Map

// keyOf returns the key behind a secret: the base64 after whsec_, or the characters of a secret of another form.
func keyOf(secret string) []byte {
	if encoded, found := strings.CutPrefix(secret, "whsec_"); found && encoded != "" {
		if key, err := base64.StdEncoding.Strict().DecodeString(encoded); err == nil {
			return key
		}
	}
	return []byte(secret)
}

func isGenuine(secret string, header http.Header, body []byte, now time.Time) bool {
	timestamp := header.Get("webhook-timestamp")
	seconds, err := strconv.ParseInt(timestamp, 10, 64)
	if err != nil || now.Sub(time.Unix(seconds, 0)).Abs() > tolerance {
		return false
	}
	mac := hmac.New(sha256.New, keyOf(secret))
	fmt.Fprintf(mac, "%s.%s.", header.Get("webhook-id"), timestamp)
	mac.Write(body)
	expected := []byte("v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil)))
	genuine := false
	for _, part := range strings.Split(header.Get("webhook-signature"), " ") {
		genuine = hmac.Equal(expected, []byte(part)) || genuine
	}
	return genuine
}

func receive(response http.ResponseWriter, request *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(response, request.Body, largestBody))
	if err != nil {
		http.Error(response, "too large", http.StatusRequestEntityTooLarge)
		return
	}
	if !isGenuine(os.Getenv("WEBHOOK_SECRET"), request.Header, body, time.Now()) {
		http.Error(response, "not genuine", http.StatusBadRequest)
		return
	}
	var event struct {
		ID   string          `json:"id"`
		Type string          `json:"type"`
		Data json.RawMessage `json:"data"`
	}
	if err := json.Unmarshal(body, &event); err != nil {
		http.Error(response, "not JSON", http.StatusBadRequest)
		return
	}
	if _, repeated := seen.LoadOrStore(event.ID, true); !repeated {
		fmt.Println(event.Type, string(event.Data))
	}
	response.WriteHeader(http.StatusNoContent)
}

func main() {
	if os.Getenv("WEBHOOK_SECRET") == "" {
		log.Fatal("usage: WEBHOOK_SECRET=whsec_... go run receiver.go")
	}
	port := os.Getenv("PORT")
	if port == "" {
		port = "3000"
	}
	server := &http.Server{Addr: "127.0.0.1:" + port, Handler: http.HandlerFunc(receive), ReadTimeout: 10 * time.Second}
	fmt.Println("listening on " + port)
	log.Fatal(server.ListenAndServe())
}
