// Reads in openapi.json what can be done with a resource: the filters of its list, and the acts on a row.
import { readFileSync } from 'node:fs';
import type { Resource } from './resources.ts';
import type { Json } from './tenant-api.client.ts';

type Schema = {
  readonly $ref?: string;
  readonly type?: string;
  readonly description?: string;
  readonly enum?: readonly string[];
  readonly properties?: Readonly<Record<string, Schema>>;
};
type Operation = {
  readonly summary: string;
  readonly parameters?: readonly { name?: string; in?: string; description?: string; schema?: Schema }[];
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema: Schema }>> };
};
type Document = {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> };
};

/** An option of a command, and the field that it becomes. */
export type Field = {
  readonly option: string;
  readonly field: string;
  readonly kind: 'text' | 'number' | 'yes' | 'ago';
  readonly description: string;
};

/** `path` is below the row's own. */
export type Act = {
  readonly verb: string;
  readonly description: string;
  readonly method: string;
  readonly path: string;
  readonly fields: readonly Field[];
  readonly body?: Json;
};

/** Beside the sources, and beside those that are built. */
const FILE = new URL('../../../openapi.json', import.meta.url);
/** What the commands themselves say. */
const PAGING = new Set(['limit', 'cursor', 'after', 'order', 'wait']);
const OPTIONS: Readonly<Record<string, string>> = { event_type: 'type', subscription_id: 'webhook' };
const KINDS: Readonly<Record<string, Field['kind']>> = { string: 'text', integer: 'number', boolean: 'yes' };

/** The filters of the list, and each operation that changes a row and is no list below it. */
export function loadOperations({ path, patches = {} }: Resource): { filters: Field[]; acts: Act[] } {
  const { paths, components } = JSON.parse(readFileSync(FILE, 'utf8')) as Document;
  const resolve = (schema: Schema = {}): Schema =>
    schema.$ref === undefined ? schema : (components.schemas[schema.$ref.split('/').pop() ?? ''] ?? {});
  const makeField = (field: string, schema: Schema): Field[] => {
    const { type = '', description = schema.enum?.join(', ') ?? '' } = schema;
    const kind = field === 'since' || field === 'until' ? 'ago' : KINDS[type];
    const option = (OPTIONS[field] ?? field.replace(/_id$/, '')).replaceAll('_', '-');
    return kind === undefined ? [] : [{ option, field, kind, description }];
  };
  const filters = (paths[path]?.get?.parameters ?? []).flatMap(
    ({ name = '', in: place, description, schema }) =>
      place !== 'query' || PAGING.has(name)
        ? []
        : makeField(name, { ...resolve(schema), ...(description === undefined ? {} : { description }) }),
  );
  const acts = Object.entries(paths).flatMap(([each, { get, put: _, ...methods }]) => {
    const below = each.slice(each.indexOf('}', path.length) + 1);
    if (!each.startsWith(`${path}/{`) || below.includes('{') || (below !== '' && get)) return [];
    return Object.entries(methods).flatMap(([method, { summary, requestBody }]): Act[] => {
      if (below === '' && method !== 'delete') return [];
      const verb = below === '' ? method : below.slice(1).split('/').reverse().join('-');
      const body = resolve(Object.values(requestBody?.content ?? {})[0]?.schema);
      const fields = Object.entries(body.properties ?? {}).flatMap(([name, schema]) =>
        makeField(name, { ...resolve(schema), ...schema }),
      );
      return [{ verb, description: summary, method: method.toUpperCase(), path: below, fields }];
    });
  });
  const patched = Object.entries(patches).map(([verb, body]) => {
    const description = `Change it: ${JSON.stringify(body)}`;
    return { verb, description, method: 'PATCH', path: '', fields: [], body };
  });
  return { filters, acts: [...patched, ...acts] };
}
