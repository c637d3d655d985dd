"""The client of an agent that authenticates with its own key against Countersign."""

from .agent import Agent, Rotation, Token
from .errors import AgentError
from .http import Response
from .key import ALGORITHMS, Algorithm, Key, Signer

__all__ = ["ALGORITHMS", "Agent", "AgentError", "Algorithm", "Key", "Response", "Rotation", "Signer", "Token"]
