// The Merkle tree against the definition of RFC 9162 and published values, and the canonical bytes of rows.
import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type AuditRow, ENTRY_FIELDS, encodeAuditRow, ROW_FIELDS } from '../../src/audit/audit-row.ts';
import { createMerkleTree, hashLeaf } from '../../src/audit/merkle.node.ts';

const digest = (bytes: Uint8Array) => new Uint8Array(createHash('sha256').update(bytes).digest());
const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex');

/** MTH of RFC 9162 §2.1.1, word for word. */
function treeHash(entries: readonly Uint8Array[]): Uint8Array {
  const [first] = entries;
  if (first === undefined) return digest(new Uint8Array());
  if (entries.length === 1) return digest(Buffer.concat([Buffer.of(0), first]));
  let k = 1;
  while (k * 2 < entries.length) k *= 2;
  return digest(Buffer.concat([Buffer.of(1), treeHash(entries.slice(0, k)), treeHash(entries.slice(k))]));
}

function rootOf(entries: readonly Uint8Array[]): Uint8Array {
  const tree = createMerkleTree();
  for (const entry of entries) tree.add(hashLeaf(entry));
  return tree.root();
}

describe('the Merkle tree', () => {
  // The eight entries and roots of certificate-transparency's reference tests.
  const ENTRIES = [
    '',
    '00',
    '10',
    '2021',
    '3031',
    '40414243',
    '5051525354555657',
    '606162636465666768696a6b6c6d6e6f',
  ];
  const ROOTS = [
    'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855',
    '6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d',
    'fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125',
    'aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77',
    'd37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7',
    '4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4',
    '76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef',
    'ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c',
    '5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328',
  ];

  it.each(ROOTS.map((root, size) => ({ root, size })))(
    'has the published root of $size entries',
    ({ root, size }) => {
      expect(hex(rootOf(ENTRIES.slice(0, size).map((entry) => Buffer.from(entry, 'hex'))))).toBe(root);
    },
  );

  it('is the tree of RFC 9162 for any entries', () => {
    fc.assert(
      fc.property(fc.array(fc.uint8Array({ maxLength: 20 }), { maxLength: 70 }), (entries) => {
        expect(hex(rootOf(entries))).toBe(hex(treeHash(entries)));
      }),
    );
  });

  it('changes with any entry, with their order and with their number', () => {
    const entries = fc.uniqueArray(fc.uint8Array({ minLength: 1, maxLength: 4 }), {
      minLength: 2,
      maxLength: 20,
      selector: hex,
    });
    fc.assert(
      fc.property(entries, fc.nat(), (list, at) => {
        const index = at % list.length;
        const root = hex(rootOf(list));
        const changed = list.map((entry, i) => (i === index ? Buffer.concat([entry, Buffer.of(0)]) : entry));
        const removed = list.filter((_, i) => i !== index);
        const rotated = [...list.slice(1), ...list.slice(0, 1)];
        for (const other of [changed, removed, rotated, [...list, Buffer.of(9)]])
          expect(hex(rootOf(other))).not.toBe(root);
      }),
    );
  });

  it('takes no node for a leaf', () => {
    const [a, b] = [Buffer.from('a'), Buffer.from('b')];
    const node = Buffer.concat([hashLeaf(a), hashLeaf(b)]);
    expect(hex(rootOf([node]))).not.toBe(hex(rootOf([a, b])));
  });
});

describe("a row's canonical bytes", () => {
  const text = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 12 }),
    fc.string({ unit: 'binary-ascii', maxLength: 300 }),
  );
  const row: fc.Arbitrary<AuditRow> = fc
    .tuple(
      ...ROW_FIELDS.map((field) => (['id', 'tenant_id', 'xid'].includes(field) ? text : fc.option(text))),
    )
    .map((values) => Object.fromEntries(ROW_FIELDS.map((field, i) => [field, values[i]])) as AuditRow);

  /** Reads the bytes as their description says. */
  function decode(bytes: Uint8Array): Record<string, string | null> {
    const buffer = Buffer.from(bytes);
    expect(buffer[0]).toBe(1);
    let at = 1;
    const fields: Record<string, string | null> = {};
    for (const field of ENTRY_FIELDS) {
      const isPresent = buffer[at++] === 1;
      const length = isPresent ? buffer.readUInt32BE(at) : 0;
      if (isPresent) at += 4;
      fields[field] = isPresent ? buffer.toString('utf8', at, at + length) : null;
      at += length;
    }
    expect(at).toBe(buffer.length);
    return fields;
  }

  it('hold the whole row but its transaction: it can be read back from them', () => {
    fc.assert(
      fc.property(row, (value) => {
        const { xid: _, ...entry } = value;
        expect(decode(encodeAuditRow(value))).toEqual(entry);
      }),
    );
  });

  it('differ when anything differs, also when a text only moves from one field to the next', () => {
    fc.assert(
      fc.property(row, row, (a, b) => {
        const isSame = ENTRY_FIELDS.every((field) => a[field] === b[field]);
        expect(Buffer.compare(encodeAuditRow(a), encodeAuditRow(b)) === 0).toBe(isSame);
      }),
    );
    const base = Object.fromEntries(ROW_FIELDS.map((field) => [field, ''])) as AuditRow;
    const bytes = [
      { ...base, reason: 'x', actor_kind: '' },
      { ...base, reason: '', actor_kind: 'x' },
      { ...base, reason: null },
      base,
    ].map((value) => hex(encodeAuditRow(value)));
    expect(new Set(bytes).size).toBe(bytes.length);
  });

  it('never change, and lack the transaction', () => {
    const fixed = Object.fromEntries(
      ROW_FIELDS.map((field, i) => [field, i % 5 === 4 ? null : `${field} ü`]),
    ) as AuditRow;
    const ascii = Object.fromEntries(
      ROW_FIELDS.map((field, i) => [field, i % 5 === 4 ? null : `${field} `.repeat(i * 9)]),
    ) as AuditRow;
    const hashOf = (row: AuditRow) => createHash('sha256').update(encodeAuditRow(row)).digest('hex');
    expect(hashOf(fixed)).toBe('3f6746da6dac66599a42ef7c8a0cf36db473b0bc48c7267ede3194358868517f');
    expect(hashOf(ascii)).toBe('77072bf03b2cda3b65594ccdc3f28185aad7164fe96112f53f4fcb1a3016a4c9');
    expect(hashOf({ ...fixed, xid: '9' })).toBe(hashOf(fixed));
  });
});
