// Shows JSON Schemas of the OpenAPI document as rows of a table: a field, its type, what it means. Pure.
import { html } from './html.mjs';
import { fromInline } from './markdown.mjs';

/** The deepest level of fields that a table shows. */
const DEEPEST = 4;

/** A table of all fields, those of nested objects under dotted names; undefined where there are none. */
export function showFields(schema, find) {
  const rows = rowsOf(schema, find, '', []);
  if (rows.length === 0) return undefined;
  return html`<div class="wide"><table>
<thead><tr><th scope="col">Field</th><th scope="col">Type</th><th scope="col">Meaning</th></tr></thead>
<tbody>${rows.map((row) => showRow(row, find))}</tbody></table></div>`;
}

/** One row; parameters use it too. */
export function showRow({ name, schema, isRequired }, find) {
  const meaning = schema.description ?? resolve(schema, find).description;
  const byDefault = schema.default === undefined ? '' : ` Default: \`${JSON.stringify(schema.default)}\`.`;
  return html`<tr><td><code>${name}</code>${isRequired ? html` <b class="required">required</b>` : ''}</td>
<td>${fromInline(typeOf(schema, find))}</td><td>${fromInline((meaning ?? '') + byDefault)}</td></tr>`;
}

function rowsOf(schema, find, path, seen) {
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
function withoutRepeats(rows) {
  return [...new Map(rows.toReversed().map((row) => [row.name, row])).values()].toReversed();
}

function resolve(schema, find) {
  return schema.$ref === undefined ? schema : (find(schema.$ref) ?? {});
}

/** The type in words. */
function typeOf(schema, find) {
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
