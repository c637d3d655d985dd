// Go's x/oauth2 with its own settings, with go-oidc for metadata and for the verification of tokens.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"
	"golang.org/x/oauth2/jwt"
)

type facts struct {
	Issuer   string `json:"issuer"`
	Resource string `json:"resource"`
	Secret   struct {
		ID     string `json:"client_id"`
		Secret string `json:"client_secret"`
	} `json:"secret"`
	Exchange struct {
		UserToken  string `json:"user_token"`
		AgentToken string `json:"agent_token"`
		AgentID    string `json:"agent_id"`
	} `json:"exchange"`
	Workload struct{ Issuer, Subject, Pem string } `json:"workload"`
}

var (
	background = context.Background()
	given      facts
	provider   *oidc.Provider
)

func report(name string, err error) {
	if err == nil {
		fmt.Println("ok", name)
		return
	}
	fmt.Printf("not ok %s - %s\n", name, strings.Join(strings.Fields(err.Error()), " "))
}

func expect(isRight bool, found any) error {
	if isRight {
		return nil
	}
	return fmt.Errorf("found %v", found)
}

func config(style oauth2.AuthStyle, scopes ...string) *clientcredentials.Config {
	return &clientcredentials.Config{
		ClientID:     given.Secret.ID,
		ClientSecret: given.Secret.Secret,
		TokenURL:     provider.Endpoint().TokenURL,
		Scopes:       scopes,
		AuthStyle:    style,
	}
}

// The claims of a token that go-oidc has verified for an audience.
func verify(token *oauth2.Token, audience string) (claims map[string]any, err error) {
	found, err := provider.Verifier(&oidc.Config{ClientID: audience}).Verify(background, token.AccessToken)
	if err != nil {
		return nil, err
	}
	return claims, found.Claims(&claims)
}

// The cause must come through in the library's own error.
func refused(settings *clientcredentials.Config, code, word string) error {
	_, err := settings.Token(background)
	var found *oauth2.RetrieveError
	if !errors.As(err, &found) {
		return fmt.Errorf("no RetrieveError: %v", err)
	}
	return expect(found.ErrorCode == code && strings.Contains(found.ErrorDescription, word), err)
}

func main() {
	text, err := os.ReadFile(os.Args[1])
	if err == nil {
		err = json.Unmarshal(text, &given)
	}
	if err == nil {
		provider, err = oidc.NewProvider(background, given.Issuer)
	}
	if err != nil {
		panic(err)
	}
	report("metadata by OpenID discovery", nil)

	styles := []oauth2.AuthStyle{oauth2.AuthStyleAutoDetect, oauth2.AuthStyleInHeader, oauth2.AuthStyleInParams}
	for index, name := range []string{"detected", "client_secret_basic", "client_secret_post"} {
		style := styles[index]
		token, err := config(style).Token(background)
		if err == nil {
			err = expect(token.Type() == "Bearer" && token.Expiry.After(time.Now()), token)
		}
		report("clientcredentials, "+name, err)

		wrong := config(style)
		wrong.ClientSecret = "wrong"
		report("a wrong secret, "+name, refused(wrong, "invalid_client", " "))
		report("an unknown scope, "+name, refused(config(style, "nope"), "invalid_scope", "nope"))
	}
	report("a scope, and a token that go-oidc verifies", scoped())
	report("a token is kept, and replaced before it ends", kept())
	report("a request with a token", request())
	report("token exchange", exchange())
	report("jwt.Config of a workload", workload())
}

func scoped() error {
	token, err := config(oauth2.AuthStyleAutoDetect, "openid").Token(background)
	if err != nil {
		return err
	}
	claims, err := verify(token, given.Resource)
	if err != nil {
		return err
	}
	if _, err := verify(token, "https://other.example"); err == nil {
		return errors.New("it is for another audience, too")
	}
	return expect(claims["scope"] == "openid" && token.Extra("scope") == "openid", claims)
}

func kept() error {
	source := config(oauth2.AuthStyleAutoDetect).TokenSource(background)
	first, err := source.Token()
	if err != nil {
		return err
	}
	second, err := source.Token()
	if err != nil || second.AccessToken != first.AccessToken {
		return fmt.Errorf("it was not kept: %v", err)
	}
	kept := second.AccessToken
	// The token that the source keeps.
	second.Expiry = time.Now().Add(5 * time.Second)
	third, err := source.Token()
	return errors.Join(err, expect(third != nil && third.AccessToken != kept, "the same token"))
}

// Bearer tokens are for the resource, so this service answers that this one is for another audience.
func request() error {
	answer, err := config(oauth2.AuthStyleAutoDetect).Client(background).Get(given.Issuer + "/api/v1/agents")
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	return expect(answer.StatusCode == http.StatusForbidden, answer.Status)
}

func exchange() error {
	const kind = "urn:ietf:params:oauth:token-type:"
	settings := config(oauth2.AuthStyleAutoDetect)
	settings.EndpointParams = map[string][]string{
		"grant_type":         {"urn:ietf:params:oauth:grant-type:token-exchange"},
		"subject_token":      {given.Exchange.UserToken},
		"subject_token_type": {kind + "id_token"},
		"actor_token":        {given.Exchange.AgentToken},
		"actor_token_type":   {kind + "access_token"},
	}
	token, err := settings.Token(background)
	if err != nil {
		return err
	}
	claims, err := verify(token, given.Resource)
	if err != nil {
		return err
	}
	act, _ := claims["act"].(map[string]any)
	return expect(act["sub"] == given.Exchange.AgentID, claims)
}

func workload() error {
	settings := &jwt.Config{
		Email:      given.Workload.Issuer,
		Subject:    given.Workload.Subject,
		Audience:   given.Issuer,
		PrivateKey: []byte(given.Workload.Pem),
		TokenURL:   provider.Endpoint().TokenURL,
	}
	token, err := settings.TokenSource(background).Token()
	if err != nil {
		return err
	}
	_, err = verify(token, given.Resource)
	return err
}
