// The signature algorithms of agent keys. Pure.

/** Spelled as in requests and responses. Source: Specification, "Agent key". */
export const KEY_ALGORITHMS = ['ed25519', 'es256', 'es256k', 'bip340'] as const;

export type KeyAlgorithm = (typeof KEY_ALGORITHMS)[number];
