// Replaces key pairs that tests generate synchronously by equal ones that are imported: Node can hang for ever when the
// very object is exported (src/platform/crypto/generated-key.node.ts).
import crypto, { createPrivateKey, createPublicKey } from 'node:crypto';
import { syncBuiltinESMExports } from 'node:module';

type Generate = (type: string, options?: object) => { publicKey: unknown; privateKey: unknown };

const REPLACED = Symbol.for('countersign.generateKeyPairSync');
const PUBLIC = { type: 'spki', format: 'der' } as const;
const PRIVATE = { type: 'pkcs8', format: 'der' } as const;

// All files of a process have one node:crypto.
if (!(REPLACED in globalThis)) {
  Object.assign(globalThis, { [REPLACED]: true });
  const generate = crypto.generateKeyPairSync as unknown as Generate;
  const generateKeyPairSync: Generate = (type, options) => {
    if (options !== undefined && 'publicKeyEncoding' in options) return generate(type, options);
    const pair = generate(type, { ...options, publicKeyEncoding: PUBLIC, privateKeyEncoding: PRIVATE });
    return {
      publicKey: createPublicKey({ key: pair.publicKey as Buffer, ...PUBLIC }),
      privateKey: createPrivateKey({ key: pair.privateKey as Buffer, ...PRIVATE }),
    };
  };
  Object.assign(crypto, { generateKeyPairSync });
  syncBuiltinESMExports();
}
