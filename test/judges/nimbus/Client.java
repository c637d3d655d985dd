// The OAuth SDK of Nimbus with its own settings, and with the line of docs/clients.md.
import com.nimbusds.jose.JOSEObjectType;
import com.nimbusds.jose.JWSAlgorithm;
import com.nimbusds.jose.JWSHeader;
import com.nimbusds.jose.crypto.RSASSASigner;
import com.nimbusds.jose.jwk.*;
import com.nimbusds.jose.jwk.gen.ECKeyGenerator;
import com.nimbusds.jose.jwk.source.JWKSourceBuilder;
import com.nimbusds.jose.proc.*;
import com.nimbusds.jwt.*;
import com.nimbusds.jwt.proc.*;
import com.nimbusds.oauth2.sdk.*;
import com.nimbusds.oauth2.sdk.as.AuthorizationServerMetadata;
import com.nimbusds.oauth2.sdk.auth.*;
import com.nimbusds.oauth2.sdk.dpop.DefaultDPoPProofFactory;
import com.nimbusds.oauth2.sdk.http.HTTPRequest;
import com.nimbusds.oauth2.sdk.id.*;
import com.nimbusds.oauth2.sdk.token.*;
import com.nimbusds.oauth2.sdk.tokenexchange.TokenExchangeGrant;
import com.nimbusds.openid.connect.sdk.op.OIDCProviderMetadata;
import java.net.URI;
import java.util.Date;
import java.util.List;
import java.util.Set;

public class Client {
    static OauthCases cases;
    static AuthorizationServerMetadata metadata;

    static TokenResponse ask(ClientAuthentication client, AuthorizationGrant grant, Scope scope) throws Exception {
        TokenRequest request = new TokenRequest(metadata.getTokenEndpointURI(), client, grant, scope);
        return TokenResponse.parse(request.toHTTPRequest().send());
    }

    static AccessToken tokenOf(TokenResponse answer) {
        if (!answer.indicatesSuccess()) throw new AssertionError(answer.toErrorResponse().toJSONObject());
        return answer.toSuccessResponse().getTokens().getAccessToken();
    }

    static AccessToken issue(ClientAuthentication client) throws Exception {
        return tokenOf(ask(client, new ClientCredentialsGrant(), null));
    }

    static void expectError(TokenResponse answer, String code, String word) {
        OauthCases.expect(!answer.indicatesSuccess(), "a token");
        ErrorObject error = answer.toErrorResponse().getErrorObject();
        boolean isRight = code.equals(error.getCode()) && error.getDescription().contains(word);
        OauthCases.expect(isRight, error.toJSONObject());
    }

    static JWTClaimsSet verify(String token, String audience) throws Exception {
        DefaultJWTProcessor<SecurityContext> processor = new DefaultJWTProcessor<>();
        var keys = JWKSourceBuilder.create(metadata.getJWKSetURI().toURL()).build();
        processor.setJWSKeySelector(new JWSVerificationKeySelector<>(JWSAlgorithm.ES256, keys));
        processor.setJWSTypeVerifier(new DefaultJOSEObjectTypeVerifier<>(new JOSEObjectType("at+jwt")));
        JWTClaimsSet exact = new JWTClaimsSet.Builder().issuer(cases.issuer).build();
        processor.setJWTClaimsSetVerifier(new DefaultJWTClaimsVerifier<>(audience, exact, Set.of("sub", "exp", "jti")));
        return processor.process(token, null);
    }

    static void checkKey(String application, JWSAlgorithm algorithm) throws Exception {
        ClientID client = new ClientID(cases.text(application, "client_id"));
        JWK key = cases.key(application);
        var signer = key instanceof ECKey ec ? ec.toECPrivateKey() : key.toRSAKey().toRSAPrivateKey();
        URI endpoint = metadata.getTokenEndpointURI();
        cases.check("private_key_jwt, " + algorithm + ", for the endpoint: refused, and the cause is told", () -> {
            var assertion = new PrivateKeyJWT(client, endpoint, algorithm, signer, key.getKeyID(), null);
            expectError(ask(assertion, new ClientCredentialsGrant(), null), "invalid_client", cases.issuer);
        });
        cases.check("private_key_jwt, " + algorithm + ", for the issuer, as docs/clients.md says", () -> {
            var claims = new JWTAuthenticationClaimsSet(client, new Audience(cases.issuer));
            issue(new PrivateKeyJWT(claims, algorithm, signer, key.getKeyID(), null));
        });
    }

    /** The proof is by a key of its own, and has the nonce that the first answer gave. */
    static void bind(ClientAuthentication client) throws Exception {
        ECKey key = new ECKeyGenerator(Curve.P_256).generate();
        var proofs = new DefaultDPoPProofFactory(key, JWSAlgorithm.ES256);
        URI endpoint = metadata.getTokenEndpointURI();
        TokenRequest request = new TokenRequest(endpoint, client, new ClientCredentialsGrant(), null);
        HTTPRequest first = request.toHTTPRequest();
        first.setDPoP(proofs.createDPoPJWT("POST", endpoint));
        var challenge = first.send();
        expectError(TokenResponse.parse(challenge), "use_dpop_nonce", "");
        HTTPRequest second = request.toHTTPRequest();
        second.setDPoP(proofs.createDPoPJWT("POST", endpoint, challenge.getDPoPNonce()));
        AccessToken token = tokenOf(TokenResponse.parse(second.send()));
        var bound = verify(token.getValue(), cases.resource).getJSONObjectClaim("cnf");
        String wanted = key.computeThumbprint().toString();
        OauthCases.expect("DPoP".equals(token.getType().getValue()) && wanted.equals(bound.get("jkt")), bound);
    }

    static boolean isActive(ClientAuthentication client, AccessToken token) throws Exception {
        var request = new TokenIntrospectionRequest(metadata.getIntrospectionEndpointURI(), client, token);
        var answer = TokenIntrospectionResponse.parse(request.toHTTPRequest().send());
        return answer.toSuccessResponse().isActive();
    }

    public static void main(String[] args) throws Exception {
        cases = new OauthCases(args[0]);
        Issuer issuer = new Issuer(cases.issuer);
        metadata = AuthorizationServerMetadata.resolve(issuer);
        cases.check("metadata by RFC 8414", () -> OauthCases.expect(metadata.getIssuer().equals(issuer), metadata));
        cases.check("metadata by OpenID discovery", () -> {
            URI found = OIDCProviderMetadata.resolve(issuer).getTokenEndpointURI();
            OauthCases.expect(found.equals(metadata.getTokenEndpointURI()), found);
        });

        ClientID id = new ClientID(cases.text("secret", "client_id"));
        Secret secret = new Secret(cases.text("secret", "client_secret"));
        ClientAuthentication basic = new ClientSecretBasic(id, secret);
        cases.check("client_secret_basic", () -> issue(basic));
        cases.check("client_secret_post", () -> issue(new ClientSecretPost(id, secret)));
        checkKey("rsa", JWSAlgorithm.RS256);
        checkKey("ec", JWSAlgorithm.ES256);
        cases.check("a scope, and a token that DefaultJWTProcessor verifies", () -> {
            AccessToken token = tokenOf(ask(basic, new ClientCredentialsGrant(), new Scope("openid")));
            JWTClaimsSet claims = verify(token.getValue(), cases.resource);
            OauthCases.expect("openid".equals(claims.getStringClaim("scope")), claims);
            OauthCases.expect(token.getScope().equals(new Scope("openid")) && token.getLifetime() > 0, token);
            OauthCases.failure(BadJOSEException.class, () -> verify(token.getValue(), "https://other.example"));
        });
        cases.check("a wrong secret", () -> {
            Secret no = new Secret("no");
            for (var wrong : List.of(new ClientSecretBasic(id, no), new ClientSecretPost(id, no)))
                expectError(ask(wrong, new ClientCredentialsGrant(), null), "invalid_client", " ");
        });
        cases.check("an unknown scope", () ->
            expectError(ask(basic, new ClientCredentialsGrant(), new Scope("nope")), "invalid_scope", "nope"));
        cases.check("introspection and revocation", () -> {
            AccessToken token = issue(basic);
            OauthCases.expect(isActive(basic, token), "an ended token");
            var revocation = new TokenRevocationRequest(metadata.getRevocationEndpointURI(), basic, token);
            OauthCases.expect(revocation.toHTTPRequest().send().indicatesSuccess(), "a refusal");
            OauthCases.expect(!isActive(basic, token), "a living token");
        });
        cases.check("a token that is bound by DPoP", () -> bind(basic));
        cases.check("token exchange", () -> {
            var user = new TypelessAccessToken(cases.text("exchange", "user_token"));
            var agent = new BearerAccessToken(cases.text("exchange", "agent_token"));
            var grant = new TokenExchangeGrant(
                user, TokenTypeURI.ID_TOKEN, agent, TokenTypeURI.ACCESS_TOKEN, null, null);
            JWTClaimsSet claims = verify(tokenOf(ask(basic, grant, null)).getValue(), cases.resource);
            Object actor = claims.getJSONObjectClaim("act").get("sub");
            OauthCases.expect(actor.equals(cases.text("exchange", "agent_id")), claims);
        });
        cases.check("JWTBearerGrant of a workload", () -> {
            JWK key = cases.key("workload");
            JWTClaimsSet claims = new JWTClaimsSet.Builder()
                .issuer(cases.text("workload", "issuer")).subject(cases.text("workload", "subject"))
                .audience(cases.issuer).expirationTime(new Date(System.currentTimeMillis() + 60_000)).build();
            SignedJWT assertion = new SignedJWT(new JWSHeader(JWSAlgorithm.RS256), claims);
            assertion.sign(new RSASSASigner(key.toRSAKey()));
            var request = new TokenRequest(metadata.getTokenEndpointURI(), new JWTBearerGrant(assertion));
            tokenOf(TokenResponse.parse(request.toHTTPRequest().send()));
        });
    }
}
