// The entry `@countersign/resource-server`. It imports no `node:` module and runs in any JavaScript runtime.

export type { Parties, Rules } from './checks.ts';
export type { Act, VerifiedAgent } from './claims.ts';
export type { ClientCredentials } from './client.ts';
export type { GuardedRequest } from './credentials.ts';
export { createGuard, type Decision, type Guard, type GuardOptions } from './guard.ts';
export type { IntrospectionOptions } from './introspection.ts';
export type { MetadataMembers } from './metadata.ts';
export { createProofNonces, type ProofNonces } from './proof-nonces.ts';
export { type GuardAnswer, Refusal, type RefusalCode } from './refusal.ts';
export { createMemoryReplayStore, type ReplayStore } from './replay-store.ts';
export { followRevocations, type Revocations, type RevocationsOptions } from './revocations.ts';
