// What differs between what a statement declares and what Postgres says of it. Pure.
import type { Declared, DeclaredStatement } from './declared.ts';
import type { Described } from './described.ts';

/** How the driver gives a value of a type of Postgres, and takes one. */
const KINDS: Readonly<Record<string, readonly string[]>> = {
  bool: ['boolean'],
  int2: ['number'],
  int4: ['number'],
  int8: ['number'],
  oid: ['number'],
  float4: ['number'],
  float8: ['number'],
  numeric: ['string'],
  text: ['string'],
  varchar: ['string'],
  uuid: ['string'],
  name: ['string'],
  xid8: ['string'],
  pg_lsn: ['string'],
  date: ['string', 'Date'],
  timestamptz: ['Date', 'string'],
  bytea: ['bytes'],
  json: ['object', 'string'],
  jsonb: ['object', 'string'],
};

/** Whether a value that is declared with these kinds may be what a type of Postgres gives or takes. */
function fits(kinds: readonly string[], type: string): boolean {
  if (type === 'void') return true;
  if (/^jsonb?$/.test(type)) return true;
  if (type.startsWith('_')) {
    const items = KINDS[type.slice(1)];
    return kinds.every(
      (kind) =>
        kind === 'object[]' ||
        (kind.endsWith('[]') &&
          kind
            .slice(0, -2)
            .split('|')
            .every((item) => items?.includes(item))),
    );
  }
  const allowed = KINDS[type];
  return allowed !== undefined && kinds.every((kind) => kind === 'other' || allowed.includes(kind));
}

/** @returns one line for each difference */
export function compare(declared: DeclaredStatement, described: Described): string[] {
  const faults: string[] = [];
  const say = (what: string) => faults.push(`${declared.place}: ${what}`);
  if (declared.row !== undefined) {
    const columns = new Map(described.columns.map((column) => [column.name, column]));
    for (const [name, member] of Object.entries(declared.row)) {
      const column = columns.get(name);
      if (column === undefined) say(`no column is ${name}`);
      else describeMember(name, member, column).forEach(say);
    }
    for (const name of columns.keys()) if (!(name in declared.row)) say(`the row has no member ${name}`);
    if (columns.size !== described.columns.length) say('two columns have one name');
  }
  if (declared.value !== undefined) {
    const [column] = described.columns;
    if (column === undefined || described.columns.length > 1) say(`has ${described.columns.length} columns`);
    else describeMember(column.name, declared.value, column).forEach(say);
  }
  if (declared.values !== undefined) compareValues(declared.values, described.parameters).forEach(say);
  return faults;
}

function describeMember(
  name: string,
  { kinds, isNullable }: Declared,
  column: Described['columns'][number],
): string[] {
  const faults: string[] = [];
  if (!fits(kinds, column.type))
    faults.push(`${name} is ${kinds.join(' | ')}, and ${column.type} in Postgres`);
  if (column.isNullable === false && isNullable) faults.push(`${name} is never null`);
  if (column.isNullable === true && !isNullable) faults.push(`${name} may be null`);
  return faults;
}

function compareValues(values: readonly Declared[], parameters: readonly string[]): string[] {
  if (values.length !== parameters.length)
    return [`has ${values.length} values for ${parameters.length} parameters`];
  return values.flatMap(({ kinds }, index) =>
    fits(kinds, parameters[index] ?? '')
      ? []
      : [`$${index + 1} is ${kinds.join(' | ')}, and ${parameters[index]} in Postgres`],
  );
}
