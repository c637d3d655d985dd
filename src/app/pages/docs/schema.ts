// Shows JSON Schemas of the OpenAPI document as rows of a table: a field, its type, what it means. Pure.
import { fromInline, type Html, html } from './html.ts';

/** What is read of a schema or of an object that has one. */
export type Schema = {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly description?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly allOf?: readonly Schema[];
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly format?: string;
  readonly default?: unknown;
};

/** Reads a component by its reference. */
export type Find = <Component = Schema>(ref: string) => Component | undefined;

/** The deepest level of fields that a table shows. */
const DEEPEST = 4;

type Row = { readonly name: string; readonly schema: Schema; readonly isRequired: boolean };

/** A table of all fields, those of nested objects under dotted names; undefined where there are none. */
export function showFields(schema: Schema, find: Find): Html | undefined {
  const rows = rowsOf(schema, find, '', []);
  if (rows.length === 0) return undefined;
  return html`<div class="wide"><table>
<thead><tr><th scope="col">Field</th><th scope="col">Type</th><th scope="col">Meaning</th></tr></thead>
<tbody>${rows.map((row) => showRow(row, find))}</tbody></table></div>`;
}

/** One row; parameters use it too. */
export function showRow({ name, schema, isRequired }: Row, find: Find): Html {
  const meaning = schema.description ?? resolve(schema, find).description;
  const byDefault = schema.default === undefined ? '' : ` Default: \`${JSON.stringify(schema.default)}\`.`;
  return html`<tr><td><code>${name}</code>${isRequired ? html` <b class="required">required</b>` : ''}</td>
<td>${fromInline(typeOf(schema, find))}</td><td>${fromInline((meaning ?? '') + byDefault)}</td></tr>`;
}

function rowsOf(schema: Schema, find: Find, path: string, seen: readonly string[]): Row[] {
  if (seen.length > DEEPEST || (schema.$ref !== undefined && seen.includes(schema.$ref))) return [];
  const inside = [...seen, schema.$ref ?? ''];
  const target = resolve(schema, find);
  const variants = [...(target.anyOf ?? []), ...(target.oneOf ?? []), ...(target.allOf ?? [])];
  const own = Object.entries(target.properties ?? {}).flatMap(([name, property]) => {
    const full = path === '' ? name : `${path}.${name}`;
    const row = { name: full, schema: property, isRequired: target.required?.includes(name) ?? false };
    return [row, ...rowsOf(property, find, full, inside)];
  });
  const items = target.items === undefined ? [] : rowsOf(target.items, find, `${path}[]`, inside);
  const others = variants.flatMap((variant) => rowsOf(variant, find, path, inside));
  return withoutRepeats([...own, ...items, ...others]);
}

/** Variants of one object share fields: the first row of a name stays. */
function withoutRepeats(rows: readonly Row[]): Row[] {
  return [...new Map(rows.toReversed().map((row) => [row.name, row])).values()].toReversed();
}

function resolve(schema: Schema, find: Find): Schema {
  return schema.$ref === undefined ? schema : (find(schema.$ref) ?? {});
}

/** The type in words. */
function typeOf(schema: Schema, find: Find): string {
  const target = resolve(schema, find);
  if (target.const !== undefined) return `\`${JSON.stringify(target.const)}\``;
  if (target.enum !== undefined) return target.enum.map((value) => `\`${JSON.stringify(value)}\``).join(', ');
  const variants = target.anyOf ?? target.oneOf;
  if (variants !== undefined)
    return [...new Set(variants.map((variant) => typeOf(variant, find)))].join(' or ');
  const types = typeof target.type === 'string' ? [target.type] : (target.type ?? ['any']);
  const words = types.map((type) =>
    type === 'array' ? `list of ${target.items === undefined ? 'any' : typeOf(target.items, find)}` : type,
  );
  return words.join(' or ') + (target.format === undefined ? '' : ` (${target.format})`);
}
