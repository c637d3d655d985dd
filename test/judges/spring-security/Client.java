// Spring Security's OAuth2 client and resource server with their own settings, and with the lines of docs/clients.md.
import com.nimbusds.jose.jwk.JWK;
import com.nimbusds.jose.jwk.JWKSet;
import com.nimbusds.jose.jwk.source.ImmutableJWKSet;
import java.time.*;
import java.util.List;
import java.util.Set;
import java.util.concurrent.Callable;
import org.springframework.security.authentication.TestingAuthenticationToken;
import org.springframework.security.oauth2.client.*;
import org.springframework.security.oauth2.client.endpoint.*;
import org.springframework.security.oauth2.client.registration.*;
import org.springframework.security.oauth2.core.AuthorizationGrantType;
import org.springframework.security.oauth2.core.ClientAuthenticationMethod;
import org.springframework.security.oauth2.core.OAuth2AccessToken;
import org.springframework.security.oauth2.jwt.*;
import org.springframework.security.oauth2.server.resource.introspection.*;

public class Client {
    static OauthCases cases;

    static ClientRegistration.Builder registration(AuthorizationGrantType grant) throws Exception {
        return ClientRegistrations.fromIssuerLocation(cases.issuer)
            .registrationId("judged").authorizationGrantType(grant)
            .clientId(cases.text("secret", "client_id")).clientSecret(cases.text("secret", "client_secret"));
    }

    static ClientRegistration.Builder registration() throws Exception {
        return registration(AuthorizationGrantType.CLIENT_CREDENTIALS);
    }

    static AuthorizedClientServiceOAuth2AuthorizedClientManager manager(
            ClientRegistration registration, OAuth2AuthorizedClientProvider provider) {
        var registrations = new InMemoryClientRegistrationRepository(registration);
        var kept = new InMemoryOAuth2AuthorizedClientService(registrations);
        var manager = new AuthorizedClientServiceOAuth2AuthorizedClientManager(registrations, kept);
        if (provider != null) manager.setAuthorizedClientProvider(provider);
        return manager;
    }

    /** A token for the registered client, or for a token of somebody else. */
    static OAuth2AccessToken issue(AuthorizedClientServiceOAuth2AuthorizedClientManager manager, Object principal) {
        var authentication = new TestingAuthenticationToken(principal, null, List.of());
        var request = OAuth2AuthorizeRequest.withClientRegistrationId("judged").principal(authentication).build();
        return manager.authorize(request).getAccessToken();
    }

    static OAuth2AccessToken issue(ClientRegistration.Builder registration) {
        return issue(manager(registration.build(), null), "judge");
    }

    static JwtDecoder decoder(String audience) {
        NimbusJwtDecoder decoder = NimbusJwtDecoder.withIssuerLocation(cases.issuer).validateType(false).build();
        decoder.setJwtValidator(JwtValidators.createAtJwtValidator().issuer(cases.issuer).audience(audience).build());
        return decoder;
    }

    /**
     * Spring Security reads the code of an answer 400 alone. Of a 401, which RFC 6749 §5.2 demands, it shows the whole
     * body as its description.
     */
    static void expectRefusal(Callable<?> call, String code, String word) throws Exception {
        var error = OauthCases.failure(ClientAuthorizationException.class, call).getError();
        String found = error.getErrorCode() + " " + error.getDescription();
        OauthCases.expect(found.contains(code) && found.contains(word), error);
    }

    static void checkKey(String application, String algorithm) throws Exception {
        JWK key = cases.key(application);
        String client = cases.text(application, "client_id");
        var registration = registration().clientId(client)
            .clientAuthenticationMethod(ClientAuthenticationMethod.PRIVATE_KEY_JWT).build();
        NimbusJwtClientAuthenticationParametersConverter<OAuth2ClientCredentialsGrantRequest> converter =
            new NimbusJwtClientAuthenticationParametersConverter<>(any -> key);
        var endpoint = new RestClientClientCredentialsTokenResponseClient();
        endpoint.addParametersConverter(converter);
        var provider = new ClientCredentialsOAuth2AuthorizedClientProvider();
        provider.setAccessTokenResponseClient(endpoint);
        var manager = manager(registration, provider);
        cases.check("private_key_jwt, " + algorithm + ", as it comes: refused, and the cause is told", () -> {
            expectRefusal(() -> issue(manager, "judge"), "invalid_client", cases.issuer + ", as its only aud");
        });
        cases.check("private_key_jwt, " + algorithm + ", with the line of docs/clients.md", () -> {
            converter.setJwtClientAssertionCustomizer(context -> context.getClaims().audience(List.of(cases.issuer)));
            issue(manager, "judge");
        });
    }

    /** Spring wants a token as an object. It sends only the text. */
    static Jwt jwtOf(String text) {
        return Jwt.withTokenValue(text).header("typ", "JWT").subject("judge").build();
    }

    public static void main(String[] args) throws Exception {
        cases = new OauthCases(args[0]);
        String introspection = (String) registration().build().getProviderDetails().getConfigurationMetadata()
            .get("introspection_endpoint");
        cases.check("metadata of the issuer", () ->
            OauthCases.expect(introspection.startsWith(cases.issuer), introspection));
        cases.check("client_secret_basic, the method by metadata", () -> {
            ClientAuthenticationMethod method = registration().build().getClientAuthenticationMethod();
            OauthCases.expect(method.equals(ClientAuthenticationMethod.CLIENT_SECRET_BASIC), method);
            issue(registration());
        });
        cases.check("client_secret_post", () ->
            issue(registration().clientAuthenticationMethod(ClientAuthenticationMethod.CLIENT_SECRET_POST)));
        checkKey("rsa", "RS256");
        checkKey("ec", "ES256");
        cases.check("a scope", () -> {
            OAuth2AccessToken token = issue(registration().scope("openid"));
            OauthCases.expect(token.getScopes().equals(Set.of("openid")), token.getScopes());
        });
        cases.check("a token is kept, and replaced before it ends", () -> {
            var provider = new ClientCredentialsOAuth2AuthorizedClientProvider();
            var manager = manager(registration().build(), provider);
            OAuth2AccessToken first = issue(manager, "judge");
            OauthCases.expect(issue(manager, "judge").getTokenValue().equals(first.getTokenValue()), "another token");
            Duration life = Duration.between(Instant.now(), first.getExpiresAt()).minusSeconds(30);
            provider.setClock(Clock.offset(Clock.systemUTC(), life));
            OauthCases.expect(!issue(manager, "judge").getTokenValue().equals(first.getTokenValue()), "the same token");
        });
        cases.check("a wrong secret", () -> {
            for (String method : List.of("client_secret_basic", "client_secret_post")) {
                var wrong = registration().clientSecret("wrong")
                    .clientAuthenticationMethod(ClientAuthenticationMethod.valueOf(method));
                expectRefusal(() -> issue(wrong), "invalid_client", "Client authentication failed.");
            }
        });
        cases.check("an unknown scope", () -> 
            expectRefusal(() -> issue(registration().scope("nope")), "invalid_scope", "nope"));
        cases.check("a token by JwtDecoders as they come: the type at+jwt is refused", () -> {
            String token = issue(registration()).getTokenValue();
            JwtDecoder decoder = JwtDecoders.fromIssuerLocation(cases.issuer);
            var error = OauthCases.failure(JwtException.class, () -> decoder.decode(token));
            OauthCases.expect(error.getMessage().contains("typ"), error);
        });
        cases.check("a token by createAtJwtValidator, as docs/clients.md says", () -> {
            String token = issue(registration()).getTokenValue();
            String scope = decoder(cases.resource).decode(token).getClaimAsString("scope");
            OauthCases.expect(scope.contains("openid"), scope);
            OauthCases.failure(JwtException.class, () -> decoder("https://other.example").decode(token));
        });
        cases.check("introspection", () -> {
            String client = cases.text("secret", "client_id");
            var introspector = SpringOpaqueTokenIntrospector.withIntrospectionUri(introspection)
                .clientId(client).clientSecret(cases.text("secret", "client_secret")).build();
            var found = introspector.introspect(issue(registration()).getTokenValue());
            OauthCases.expect(client.equals(found.getAttribute("client_id")), found.getAttributes());
            OauthCases.failure(BadOpaqueTokenException.class, () -> introspector.introspect("no token"));
        });
        cases.check("token exchange", () -> {
            var provider = new TokenExchangeOAuth2AuthorizedClientProvider();
            Jwt agent = jwtOf(cases.text("exchange", "agent_token"));
            provider.setActorTokenResolver(context -> agent);
            var manager = manager(registration(AuthorizationGrantType.TOKEN_EXCHANGE).build(), provider);
            String token = issue(manager, jwtOf(cases.text("exchange", "user_token"))).getTokenValue();
            Object actor = decoder(cases.resource).decode(token).getClaimAsMap("act").get("sub");
            OauthCases.expect(actor.equals(cases.text("exchange", "agent_id")), token);
        });
        cases.check("jwt-bearer of a workload", () -> {
            var encoder = new NimbusJwtEncoder(new ImmutableJWKSet<>(new JWKSet(cases.key("workload"))));
            Jwt assertion = encoder.encode(JwtEncoderParameters.from(JwtClaimsSet.builder()
                .issuer(cases.text("workload", "issuer")).subject(cases.text("workload", "subject"))
                .audience(List.of(cases.issuer)).expiresAt(Instant.now().plusSeconds(60)).build()));
            var grant = registration(AuthorizationGrantType.JWT_BEARER)
                .clientAuthenticationMethod(ClientAuthenticationMethod.NONE).build();
            issue(manager(grant, new JwtBearerOAuth2AuthorizedClientProvider()), assertion);
        });
    }
}
