"""An agent by countersign_agent against the real service: argv is a file with what it needs; prints what it got."""

import json
import sys

from countersign_agent import Agent, AgentError, Key

with open(sys.argv[1]) as file:
    given = json.load(file)


def describe(token):
    return {"token_type": token.token_type, "scope": token.scope, "access_token": token.access_token}


algorithm = given["algorithm"]
proof_key = Key.generate("es256") if algorithm == "es256k" else None
agent = Agent(given["issuer"], Key.generate(algorithm), scope="openid vault:read", dpop=given["dpop"], dpop_key=proof_key)
enrolled = agent.enroll(given["handed"], label="by Python")
token = agent.get_token(resource="https://vault.example")
rotation = agent.rotate_key(Key.generate(algorithm), overlap_seconds=3600)
me = agent.read_self()
delegated = agent.exchange(
    given["user_token"], client=tuple(given["client"]), subject_token_type="id_token", scope="vault:read"
)
try:
    agent.get_token("wallet:sign")
    refused = None
except AgentError as error:
    refused = error.code
print(
    json.dumps(
        {
            "enrolled": enrolled,
            "token": describe(token),
            "cached": agent.get_token() is agent.get_token(),
            "switched": me["authenticated_key_id"] == rotation.new_key_id,
            "delegated": describe(delegated),
            "refused": refused,
        }
    )
)
