// The entry `@countersign/agent`: the client of an agent in Node, browsers, Deno, Bun and workers. It imports no
// `node:` module and no package.

export {
  type Agent,
  type AgentOptions,
  createAgent,
  type RotationOptions,
  type TokenOptions,
} from './agent.ts';
export { AgentError, type LocalErrorCode } from './agent-error.ts';
export type { ExchangeOptions } from './authentication.ts';
export type { AgentSelf, Enrollment, KeyRotation } from './key-rotation.ts';
export { generateKey, type KeyInput, type PrivateJwk } from './private-key.ts';
export type { KeyAlgorithm, Signer } from './signer.ts';
export type { AgentToken } from './token-cache.ts';
