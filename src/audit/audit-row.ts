// Encodes a row of the audit log as canonical bytes, which are hashed. Rows that differ in any of these fields have
// different bytes. An encoding stays as it is; a different one needs a new version number.

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

/** What the bytes hold: not the transaction id, which would tell a tenant how active the others are. */
export const ENTRY_FIELDS = ROW_FIELDS.filter((field) => field !== 'xid');

const VERSION = 1;
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
 * Returns the canonical bytes: the byte `01` for the version, then the fields of `ENTRY_FIELDS`. A null field is the
 * byte `00`. Any other field is the byte `01`, the length of its UTF-8 (4 bytes, big-endian), and its UTF-8.
 */
export function encodeAuditRow(row: AuditRow): Uint8Array {
  return encodeAscii(row) ?? encodeAny(row);
}

/** Encodes a row of ASCII characters by one call of the encoder. @returns undefined for any other row */
function encodeAscii(row: AuditRow): Uint8Array | undefined {
  let text = '\0';
  for (const field of ENTRY_FIELDS) {
    const value = row[field];
    text += value === null ? ABSENT_FIELD : HEADER_PLACE + value;
  }
  const bytes = new Uint8Array(text.length);
  // A character that is not ASCII needs more bytes than UTF-16 units, and then the text does not fit.
  if (encoder.encodeInto(text, bytes).read < text.length) return undefined;
  const view = new DataView(bytes.buffer);
  bytes[0] = VERSION;
  let end = 1;
  for (const field of ENTRY_FIELDS) {
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

function encodeAny(row: AuditRow): Uint8Array {
  let most = 1;
  for (const field of ENTRY_FIELDS) most += HEADER + MOST_BYTES * (row[field]?.length ?? 0);
  const bytes = new Uint8Array(most);
  const view = new DataView(bytes.buffer);
  bytes[0] = VERSION;
  let end = 1;
  for (const field of ENTRY_FIELDS) {
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
