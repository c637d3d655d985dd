// Encodes a row of the audit log as canonical bytes, which are hashed. Rows that differ in any field have different
// bytes. An encoding stays as it is; a different one needs a new version number.

export const ROW_FIELDS = [
  'id',
  'tenant_id',
  'xid',
  'occurred_at',
  'action',
  'outcome',
  'reason',
  'actor_kind',
  'actor_id',
  'target_type',
  'target_id',
  'key_id',
  'token_id',
  'address',
  'request_id',
  'data',
] as const;

type Field = (typeof ROW_FIELDS)[number];

/**
 * A row as text. Ids are in lower case with hyphens. `xid` and `occurred_at` (milliseconds since 1970) are decimal.
 * `data` is the JSON text that Postgres prints, which keeps every digit of the numbers.
 */
export type AuditRow = Readonly<Record<Exclude<Field, 'id' | 'tenant_id' | 'xid'>, string | null>> &
  Readonly<Record<'id' | 'tenant_id' | 'xid', string>>;

/** What an encoding holds. Version 2 lacks the transaction id, which would tell a tenant how active the others are. */
const ENCODINGS = [
  { version: 1, fields: ROW_FIELDS },
  { version: 2, fields: ROW_FIELDS.filter((field) => field !== 'xid') },
] as const;

type Encoding = (typeof ENCODINGS)[number];

const ABSENT = 0;
const PRESENT = 1;
const HEADER = 5;

/** The text that keeps the place of a present field's header, and of an absent field. */
const HEADER_PLACE = '\0'.repeat(HEADER);
const ABSENT_FIELD = '\0';

/** Greatest number of UTF-8 bytes for one UTF-16 unit. */
const MOST_BYTES = 3;

const encoder = new TextEncoder();

/** Makes a row from its fields in the order of `ROW_FIELDS`. */
export function toAuditRow(fields: readonly (string | null)[]): AuditRow {
  const row: Record<string, string | null> = {};
  for (const [index, field] of ROW_FIELDS.entries()) row[field] = fields[index] ?? null;
  return row as AuditRow;
}

/**
 * Returns the canonical bytes: one byte for the version, then the fields of `ROW_FIELDS`, in version 2 without `xid`. A
 * null field is the byte `00`. Any other field is the byte `01`, the length of its UTF-8 (4 bytes, big-endian), and its
 * UTF-8.
 * @param version 1 for the rows in checkpoints of earlier versions, which have no growing tree
 */
export function encodeAuditRow(row: AuditRow, version: 1 | 2): Uint8Array {
  const encoding = ENCODINGS[version - 1] ?? ENCODINGS[1];
  return encodeAscii(row, encoding) ?? encodeAny(row, encoding);
}

/** Encodes a row of ASCII characters by one call of the encoder. @returns undefined for any other row */
function encodeAscii(row: AuditRow, { version, fields }: Encoding): Uint8Array | undefined {
  let text = '\0';
  for (const field of fields) {
    const value = row[field];
    text += value === null ? ABSENT_FIELD : HEADER_PLACE + value;
  }
  const bytes = new Uint8Array(text.length);
  // A character that is not ASCII needs more bytes than UTF-16 units, and then the text does not fit.
  if (encoder.encodeInto(text, bytes).read < text.length) return undefined;
  const view = new DataView(bytes.buffer);
  bytes[0] = version;
  let end = 1;
  for (const field of fields) {
    const value = row[field];
    if (value === null) {
      end += 1;
      continue;
    }
    bytes[end] = PRESENT;
    view.setUint32(end + 1, value.length);
    end += HEADER + value.length;
  }
  return bytes;
}

function encodeAny(row: AuditRow, { version, fields }: Encoding): Uint8Array {
  let most = 1;
  for (const field of fields) most += HEADER + MOST_BYTES * (row[field]?.length ?? 0);
  const bytes = new Uint8Array(most);
  const view = new DataView(bytes.buffer);
  bytes[0] = version;
  let end = 1;
  for (const field of fields) {
    const text = row[field];
    bytes[end] = text === null ? ABSENT : PRESENT;
    end += 1;
    if (text === null) continue;
    const { written } = encoder.encodeInto(text, bytes.subarray(end + 4));
    view.setUint32(end, written);
    end += 4 + written;
  }
  return bytes.subarray(0, end);
}
