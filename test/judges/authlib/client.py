# Authlib's sessions for requests and httpx, with their own settings and with the lines of docs/clients.md.
import os
import time

import requests
from authlib.integrations.base_client import OAuthError
from authlib.integrations.httpx_client import OAuth2Client
from authlib.integrations.requests_client import AssertionSession, OAuth2Session
from authlib.oauth2.rfc6750 import InvalidTokenError
from authlib.oauth2.rfc7523 import PrivateKeyJWT, private_key_jwt_sign
from authlib.oauth2.rfc8414 import AuthorizationServerMetadata
from authlib.oauth2.rfc8414 import get_well_known_url as find_oauth
from authlib.oauth2.rfc9068 import JWTBearerTokenValidator
from authlib.oidc.discovery import OpenIDProviderMetadata
from authlib.oidc.discovery import get_well_known_url as find_openid
from joserfc.jwk import ECKey, RSAKey
from oauth_cases import ISSUER, RESOURCE, case, facts, failure_of

# The service under test has no TLS. Everything else is as it comes.
os.environ["AUTHLIB_INSECURE_TRANSPORT"] = "1"
TYPE = "urn:ietf:params:oauth:token-type:"
metadata = requests.get(find_oauth(ISSUER, external=True)).json()
token_endpoint = metadata["token_endpoint"]
secret = (facts["secret"]["client_id"], facts["secret"]["client_secret"])
keys = {"RS256": (facts["rsa"], RSAKey), "ES256": (facts["ec"], ECKey)}


class ShortAssertion(PrivateKeyJWT):
    def sign(self, auth, token_endpoint):
        return private_key_jwt_sign(auth.client_secret, auth.client_id, ISSUER, alg=self.alg, expires_in=60)


def with_key(algorithm, method):
    """A session that signs its assertions by a key."""
    application, kind = keys[algorithm]
    key = kind.import_key(application["pem"])
    session = OAuth2Session(application["client_id"], key, token_endpoint_auth_method="private_key_jwt")
    session.register_client_auth_method(method(alg=algorithm))
    return session


class Validator(JWTBearerTokenValidator):
    def get_jwks(self):
        return requests.get(metadata["jwks_uri"]).json()


# `validate`, which no session calls, wants what a service without users at a browser does not have: a response type,
# for which an empty list stands (RFC 8414 §2 requires the member), and RS256 for ID tokens.
ABSENT = {"response_types_supported": ["none"], "id_token_signing_alg_values_supported": ["RS256"]}


@case("metadata by RFC 8414")
def _():
    AuthorizationServerMetadata(metadata | ABSENT).validate()
    assert metadata["issuer"] == ISSUER


@case("metadata by OpenID discovery")
def _():
    found = requests.get(find_openid(ISSUER, external=True)).json()
    OpenIDProviderMetadata(found | ABSENT).validate()
    assert found["token_endpoint"] == token_endpoint


for kind in (OAuth2Session, OAuth2Client):
    for method in (None, "client_secret_basic", "client_secret_post"):

        @case(f"{kind.__name__}, {method or 'no method named'}")
        def _():
            token = kind(*secret, token_endpoint_auth_method=method).fetch_token(token_endpoint)
            assert token["token_type"] == "Bearer" and token["expires_in"] > 0


for algorithm in keys:

    @case(f"private_key_jwt, {algorithm}, as it comes: refused, and the cause is told")
    def _():
        error = failure_of(OAuthError, lambda: with_key(algorithm, PrivateKeyJWT).fetch_token(token_endpoint))
        assert error.error == "invalid_client" and ISSUER in error.description, error

    @case(f"private_key_jwt, {algorithm}, with the lines of docs/clients.md")
    def _():
        assert with_key(algorithm, ShortAssertion).fetch_token(token_endpoint)["access_token"]


@case("a scope")
def _():
    assert OAuth2Session(*secret, scope="openid").fetch_token(token_endpoint)["scope"] == "openid"


@case("a token is valid by JWTBearerTokenValidator")
def _():
    token = OAuth2Session(*secret).fetch_token(token_endpoint)["access_token"]
    validator = Validator(ISSUER, RESOURCE)
    claims = validator.authenticate_token(token)
    validator.validate_token(claims, ["openid"], None)
    assert claims["client_id"] == secret[0]
    other = Validator(ISSUER, "https://other.example")
    failure_of(InvalidTokenError, lambda: other.validate_token(other.authenticate_token(token), [], None))


@case("a token is kept, and replaced before it ends")
def _():
    session = OAuth2Session(*secret, token_endpoint=token_endpoint, grant_type="client_credentials")
    first = session.fetch_token()["access_token"]
    session.ensure_active_token()
    assert session.token["access_token"] == first
    session.token["expires_at"] = int(time.time()) + 30
    session.ensure_active_token()
    assert session.token["access_token"] != first


@case("a wrong secret")
def _():
    error = failure_of(OAuthError, lambda: OAuth2Session(secret[0], "wrong").fetch_token(token_endpoint))
    assert error.error == "invalid_client" and error.description, error


@case("an unknown scope")
def _():
    error = failure_of(OAuthError, lambda: OAuth2Session(*secret, scope="nope").fetch_token(token_endpoint))
    assert error.error == "invalid_scope" and "nope" in error.description, error


@case("introspection and revocation")
def _():
    session = OAuth2Session(*secret)
    session.fetch_token(token_endpoint)
    assert session.introspect_token(metadata["introspection_endpoint"]).json()["active"] is True
    assert session.revoke_token(metadata["revocation_endpoint"]).status_code == 200
    assert session.introspect_token(metadata["introspection_endpoint"]).json() == {"active": False}


@case("token exchange")
def _():
    given = facts["exchange"]
    token = OAuth2Session(*secret).fetch_token(
        token_endpoint,
        grant_type="urn:ietf:params:oauth:grant-type:token-exchange",
        subject_token=given["user_token"],
        subject_token_type=TYPE + "id_token",
        actor_token=given["agent_token"],
        actor_token_type=TYPE + "access_token",
    )
    claims = Validator(ISSUER, RESOURCE).authenticate_token(token["access_token"])
    assert claims["act"]["sub"] == given["agent_id"]


@case("AssertionSession of a workload")
def _():
    given = facts["workload"]
    session = AssertionSession(
        token_endpoint, given["issuer"], given["subject"], ISSUER, alg="RS256", key=RSAKey.import_key(given["pem"])
    )
    assert session.refresh_token()["access_token"]
