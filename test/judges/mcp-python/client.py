# The MCP SDK for Python: its clients with the providers of the client-credentials extension call a tool of its server,
# which verifies their tokens by PyJWT.
import asyncio
import threading
import time

import httpx2
import jwt
import uvicorn
from mcp import Client
from mcp.client.auth import OAuthTokenError, TokenStorage
from mcp.client.auth.extensions.client_credentials import (
    ClientCredentialsOAuthProvider,
    PrivateKeyJWTOAuthProvider,
    SignedJWTParameters,
)
from mcp.client.streamable_http import streamable_http_client
from mcp.server.auth.provider import AccessToken
from mcp.server.auth.settings import AuthSettings
from mcp.server.mcpserver import MCPServer
from oauth_cases import ISSUER, RESOURCE, case, facts, failure_of

secret, SCOPES = facts["secret"], ["openid"]


class Storage(TokenStorage):
    tokens = info = None

    async def get_tokens(self):
        return self.tokens

    async def set_tokens(self, tokens):
        self.tokens = tokens

    async def get_client_info(self):
        return self.info

    async def set_client_info(self, client_info):
        self.info = client_info


class Verifier:
    keys = jwt.PyJWKClient(f"{ISSUER}/.well-known/jwks.json")

    async def verify_token(self, token):
        key = await asyncio.to_thread(self.keys.get_signing_key_from_jwt, token)
        rules = {"audience": RESOURCE, "issuer": ISSUER, "options": {"require": ["exp", "sub"]}}
        claims = jwt.decode(token, key, algorithms=["ES256", "EdDSA"], **rules)
        named = {"client_id": claims["client_id"], "resource": claims["aud"], "expires_at": claims["exp"]}
        return AccessToken(token=token, scopes=claims["scope"].split(), **named)


def serve(scopes):
    """Starts a server whose tokens need these scopes."""
    auth = AuthSettings(
        issuer_url=ISSUER, resource_server_url=RESOURCE, required_scopes=scopes, validate_token_resource=True
    )
    server = MCPServer("judged", token_verifier=Verifier(), auth=auth, log_level="CRITICAL")
    server.add_tool(lambda a, b: a + b, name="add")
    running = uvicorn.Server(
        uvicorn.Config(server.streamable_http_app(), port=facts["port"], log_level="critical")
    )
    thread = threading.Thread(target=running.run, daemon=True)
    thread.start()
    while not running.started:
        time.sleep(0.05)

    def stop():
        running.should_exit = True
        thread.join()

    return stop


def call(provider):
    """Calls the tool. @returns the sum"""

    async def run():
        async with httpx2.AsyncClient(auth=provider, timeout=30) as http:
            async with Client(streamable_http_client(RESOURCE, http_client=http)) as client:
                result = await client.call_tool("add", {"a": 1, "b": 2})
                return result.content[0].text

    try:
        return asyncio.run(run())
    except BaseExceptionGroup as group:
        raise cause(group) from None


def by_secret(client_secret=secret["client_secret"], **options):
    return ClientCredentialsOAuthProvider(
        RESOURCE, Storage(), secret["client_id"], client_secret, issuer=ISSUER, **options
    )


def cause(error):
    """The exception of the provider, which the transport may have put into groups."""
    while isinstance(error, BaseExceptionGroup) and error.exceptions:
        error = error.exceptions[0]
    return error


def with_key(name, algorithm):
    application = facts[name]
    parameters = SignedJWTParameters(
        issuer=application["client_id"],
        subject=application["client_id"],
        signing_key=application["pem"],
        signing_algorithm=algorithm,
    )
    assertion = parameters.create_assertion_provider()
    return PrivateKeyJWTOAuthProvider(RESOURCE, Storage(), application["client_id"], assertion, issuer=ISSUER)


stop = serve(SCOPES)

for method in ("client_secret_basic", "client_secret_post"):

    @case(f"ClientCredentialsOAuthProvider, {method}")
    def _():
        assert call(by_secret(token_endpoint_auth_method=method)) == "3"


for name, algorithm in (("rsa", "RS256"), ("ec", "ES256")):

    @case(f"PrivateKeyJWTOAuthProvider, {algorithm}")
    def _():
        assert call(with_key(name, algorithm)) == "3"


@case("the scope is the one that the server needs")
def _():
    provider = by_secret()
    call(provider)
    assert provider.context.current_tokens.scope == "openid", provider.context.current_tokens


@case("a token is kept, and replaced when it has ended")
def _():
    provider = by_secret()
    call(provider)
    first = provider.context.current_tokens.access_token
    call(provider)
    assert provider.context.current_tokens.access_token == first
    provider.context.token_expiry_time = time.time() - 1
    call(provider)
    assert provider.context.current_tokens.access_token != first


@case("a wrong secret")
def _():
    error = failure_of(OAuthTokenError, lambda: call(by_secret("wrong")))
    assert "invalid_client" in str(error) and "error_description" in str(error), error


stop()
stop = serve(["nope"])


@case("a scope that the application does not have")
def _():
    error = failure_of(OAuthTokenError, lambda: call(by_secret()))
    assert "invalid_scope" in str(error) and "nope" in str(error), error


stop()
stop = serve(None)


@case("a server that names no scopes: refused, and the cause is told")
def _():
    error = failure_of(OAuthTokenError, lambda: call(by_secret()))
    assert "invalid_scope" in str(error) and "allowed: " in str(error), error


stop()
