// Turns zod schemas into the JSON Schemas of openapi.json. A schema with an id becomes a component.
import { type ZodType, z } from 'zod';

export type JsonSchema = Record<string, unknown>;

type Definitions = Record<string, JsonSchema>;

const LOCAL = '#/$defs/';
const SHARED = '#/components/schemas/';

/** The name that zod gives to a recursive schema without an id; here this is always "any JSON value". */
const NAMELESS = /^__schema\d+$/;

/** Without its recursion, which TypeScript refuses in the types that openapi-typescript makes. */
const ANY_JSON: JsonSchema = { description: 'Any JSON value' };

/** `describe` returns a schema or a reference to it, and adds the referenced schemas to `components`. */
export function createSchemaCollector() {
  const components: Definitions = {};
  /** The text of each component before its references were renamed. */
  const sources = new Map<string, string>();

  return {
    components,
    /**
     * @param io `output` for answers, `input` for requests. A schema whose two forms differ (defaults, unknown fields)
     *   gets a second component, named with `Input` at the end
     */
    describe(schema: ZodType, io: 'input' | 'output'): JsonSchema {
      const { $defs = {}, $schema: _, ...root } = convert(schema, io);
      const names = nameDefinitions($defs as Definitions, io, sources);
      for (const [id, definition] of Object.entries($defs as Definitions)) {
        const name = names.get(id) ?? id;
        sources.set(name, JSON.stringify(definition));
        components[name] ??= NAMELESS.test(id) ? ANY_JSON : (rewrite(definition, names) as JsonSchema);
      }
      return rewrite(root, names) as JsonSchema;
    },
  };
}

function convert(schema: ZodType, io: 'input' | 'output'): JsonSchema {
  return z.toJSONSchema(schema, {
    io,
    unrepresentable: 'any',
    override: ({ zodSchema, jsonSchema }) => {
      if (zodSchema._zod.def.type === 'date')
        Object.assign(jsonSchema, { type: 'string', format: 'date-time' });
      // The format implies zod's pattern, which is a page long. A pattern from a description is kept.
      if (zodSchema._zod.def.type === 'string' && jsonSchema.format !== undefined) delete jsonSchema.pattern;
      // A record that says itself which objects it takes: keywords beside `oneOf` break generators of clients.
      if (zodSchema._zod.def.type === 'record' && jsonSchema.oneOf !== undefined)
        for (const name of ['type', 'propertyNames', 'additionalProperties'] as const)
          delete jsonSchema[name];
      if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum;
      if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
    },
  }) as JsonSchema;
}

/**
 * The component name of each definition: its id, or another name when a different form of it (or of its references)
 * already has the id.
 */
function nameDefinitions(
  definitions: Definitions,
  io: 'input' | 'output',
  sources: ReadonlyMap<string, string>,
): Map<string, string> {
  const differs = (id: string, seen: ReadonlySet<string>): boolean => {
    if (seen.has(id)) return false;
    const text = JSON.stringify(definitions[id]);
    const taken = sources.get(id);
    if (taken !== undefined && taken !== text) return true;
    const inner = new Set([...seen, id]);
    return referencesIn(text).some((reference) => differs(reference, inner));
  };
  const nameOf = (id: string): string => {
    const plain = NAMELESS.test(id) ? 'JsonValue' : id;
    if (plain === id && !differs(id, new Set())) return id;
    const text = JSON.stringify(definitions[id]);
    const names = [...(plain === id ? [] : [plain]), `${plain}${io === 'input' ? 'Input' : 'Output'}`];
    for (let number = 2; ; number += 1) {
      const free = names.find((name) => (sources.get(name) ?? text) === text);
      if (free !== undefined) return free;
      names.push(`${plain}${number}`);
    }
  };
  return new Map(Object.keys(definitions).map((id) => [id, nameOf(id)]));
}

function referencesIn(text: string): string[] {
  return [...text.matchAll(/"#\/\$defs\/([^"]+)"/g)].map((match) => match[1] ?? '');
}

function rewrite(value: unknown, names: ReadonlyMap<string, string>): unknown {
  if (Array.isArray(value)) return value.map((part) => rewrite(part, names));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, part]) => {
      if (typeof part !== 'string') return [name, rewrite(part, names)];
      if (name === 'pattern') return [name, withoutEscapes(part)];
      const isLocal = name === '$ref' && part.startsWith(LOCAL);
      const id = part.slice(LOCAL.length);
      return [name, isLocal ? SHARED + (names.get(id) ?? id) : part];
    }),
  );
}

/**
 * Replaces escapes with the characters beyond ASCII, because not every dialect of regular expressions has these
 * escapes.
 */
function withoutEscapes(pattern: string): string {
  return pattern.replace(/\\u([0-9a-f]{4})/gi, (sequence, digits: string) => {
    const code = Number.parseInt(digits, 16);
    return code < 0x80 ? sequence : String.fromCharCode(code);
  });
}
