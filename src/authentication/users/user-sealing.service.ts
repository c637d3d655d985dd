// The key of each user: it seals the user's name, and the addresses of the user's acts in the audit log. Without the
// key they are bytes that nobody can read.
// docs/decisions/0047-users-forgotten.md

import { createHmac, hkdfSync, randomBytes } from 'node:crypto';
import { SEALED_MARK } from '../../audit/audit.ts';
import { type MasterKey, openSecret, sealSecret } from '../../platform/crypto/secret-box.node.ts';
import { newId } from '../../platform/database/ids.ts';
import type { SealedColumn } from '../../platform/database/sealed-column.ts';
import { Service } from '../../platform/service.ts';
import type { Subject } from './subject.ts';

/** A user as it is stored. */
export type StoredUser = {
  readonly id: string;
  readonly tenantId: string;
  readonly nameSealed: Buffer;
  readonly keySealed: Buffer;
};

/** A user whose key was opened. */
export type OpenedUser = Subject & {
  readonly id: string;
  /** Seals a text for the audit log, which opens for this user alone. */
  readonly seal: (text: string) => string;
  /** Opens a text of `seal`. @throws SecretBoxError for another text */
  readonly open: (sealed: string) => string;
};

/** The `info` of the key derivation. Each use of a master key has a different one (RFC 5869 §3.2). */
const PURPOSE = 'countersign:user-digest:v1';

const KEY_LENGTH = 32;

const keyContext = (tenantId: string, id: string) => `user-key:${tenantId}:${id}`;
const nameContext = (id: string) => `user-name:${id}`;
const textContext = (id: string) => `user-text:${id}`;
const boxOf = (key: Uint8Array): MasterKey[] => [{ id: 'user', key }];

/** Resealing computes the digest anew, because it depends on the master key. */
export const SEALED_USERS: readonly SealedColumn[] = [
  {
    table: 'users',
    column: 'key_sealed',
    name: 'id',
    contextOf: ({ tenantId, name }) => keyContext(tenantId, name),
    beside: {
      column: 'digest',
      from: 'name',
      of: (masterKeys, { id, tenantId, from }, key) =>
        new UserSealing({ masterKeys }).digestsOf(tenantId, openName(id, key, from))[0] ?? '',
    },
  },
];

export class UserSealing extends Service<{ masterKeys: readonly MasterKey[] }> {
  readonly #digestKeys = this.needs.masterKeys.map(({ key }) =>
    Buffer.from(hkdfSync('sha256', key, new Uint8Array(0), PURPOSE, KEY_LENGTH)),
  );

  /** The digests by which a user may be stored: one for each master key, that of the first key first. */
  digestsOf = (tenantId: string, { issuer, sub }: Subject): string[] =>
    this.#digestKeys.map((key) =>
      createHmac('sha256', key)
        .update(JSON.stringify([tenantId, issuer, sub]))
        .digest('base64url'),
    );

  /** Makes a user with a new id and a new key. */
  create = (tenantId: string, { issuer, sub }: Subject): StoredUser => {
    const id = newId();
    const key = randomBytes(KEY_LENGTH);
    return {
      id,
      tenantId,
      nameSealed: sealSecret(boxOf(key), nameContext(id), Buffer.from(JSON.stringify([issuer, sub]))),
      keySealed: sealSecret(this.needs.masterKeys, keyContext(tenantId, id), key),
    };
  };

  /** @throws SecretBoxError when the user was sealed with an unknown master key, or changed */
  open = ({ id, tenantId, nameSealed, keySealed }: StoredUser): OpenedUser => {
    const key = openSecret(this.needs.masterKeys, keyContext(tenantId, id), keySealed);
    return {
      id,
      ...openName(id, key, nameSealed),
      seal: (text) =>
        SEALED_MARK + sealSecret(boxOf(key), textContext(id), Buffer.from(text)).toString('base64url'),
      open: (sealed) => {
        const box = Buffer.from(sealed.slice(SEALED_MARK.length), 'base64url');
        return openSecret(boxOf(key), textContext(id), box).toString();
      },
    };
  };
}

function openName(id: string, key: Uint8Array, nameSealed: Uint8Array): Subject {
  const [issuer, sub] = JSON.parse(openSecret(boxOf(key), nameContext(id), nameSealed).toString()) as [
    string,
    string,
  ];
  return { issuer, sub };
}
